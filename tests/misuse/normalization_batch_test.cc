#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

TEST_CASE("misuse: functions of normalization, batches") {
  check_misuses({
      {[] {
         F::batch_normalization(real({2, 3}), real({4}), real({4}));
       },
       is<TypeError>,
       "F::batch_normalization: gamma has shape (4,) but x has shape (2, 3): gamma.shape[0] must equal x.shape[1] (4 "
       "!= 3)"},
      {[] {
         F::batch_normalization(real({2, 3}), real({3}), real({4}));
       },
       is<TypeError>,
       "F::batch_normalization: beta has shape (4,) but gamma has shape (3,): beta.shape must equal gamma.shape"},
      {[] { F::batch_normalization(real({3}), real({3}), real({3})); }, is<TypeError>,
       "F::batch_normalization: gamma has shape (3,): gamma.ndim must equal 0 (1 != 0)"},
      {[] {
         F::batch_normalization(whole({2, 3}), real({3}), real({3}));
       },
       is<TypeError>, "F::batch_normalization: x has dtype int32: x.dtype must be floating"},
      {[] {
         F::batch_normalization(real({2, 3}), real({3}), real({3}), {.eps = -1});
       },
       is<ValueError>, "F::batch_normalization: eps is -1: it must be at least 0"},
      {[] {
         F::batch_normalization(real({2, 3}), real({3}), real({3}), {.eps = kNaN});
       },
       is<ValueError>, "F::batch_normalization: eps is nan: it must be at least 0"},
      {[] {
         F::batch_normalization(real({2, 3}), real({3}), real({3}),
                                {.running_mean = ones({4}), .running_var = ones({4})});
       },
       is<TypeError>,
       "F::batch_normalization: running_mean has shape (4,) but gamma has shape (3,): running_mean.shape must equal "
       "gamma.shape"},
      {[] {
         F::batch_normalization(real({2, 3}), real({3}), real({3}), {.running_mean = ones({3})});
       },
       is<ValueError>, "F::batch_normalization: running_mean and running_var must be given together"},
      {[] {
         F::batch_normalization(real({2, 3}), real({3}), real({3}), {.decay = 2});
       },
       is<ValueError>, "F::batch_normalization: decay is 2: it must be in [0, 1]"},
      {[] {
         F::batch_normalization(real({2, 3}), real({3}), real({3}), {.axis = {2}});
       },
       is<IndexError>, "F::batch_normalization: axis 2 is out of range for 2 axes"},
      {[] {
         F::batch_normalization(real({2, 3}), real({3}), real({3}), {.axis = {0, 0}});
       },
       is<ValueError>, "F::batch_normalization: axis 0 comes twice"},
      {[] {
         F::batch_normalization(real({2, 3}), real({3}), real({3}), {.axis = {1}});
       },
       is<TypeError>,
       "F::batch_normalization: gamma has shape (3,) but x has shape (2, 3): gamma.shape[0] must equal x.shape[0] (3 "
       "!= 2)"},
      {[] { F::batch_normalization(absent, real({3}), real({3})); }, is<TypeError>,
       "F::batch_normalization: x is not given: it is required"},
      {[] {
         F::batch_normalization(real({2, 3}), absent, real({3}));
       },
       is<TypeError>, "F::batch_normalization: gamma is not given: it is required"},
      {[] {
         F::batch_normalization(real({2, 3}), real({3}), absent);
       },
       is<TypeError>, "F::batch_normalization: beta is not given: it is required"},
      {[] {
         F::batch_normalization(real({2, 3}), real({3}), wide({3}));
       },
       is<TypeError>,
       "F::batch_normalization: beta has dtype float64 but gamma has dtype float32: beta.dtype must equal gamma.dtype "
       "(float64 != float32)"},
      {[] {
         F::batch_normalization(real({2, 3}), real({3}), real({3}),
                                {.running_mean = ones({3}, Dtype::int32), .running_var = ones({3}, Dtype::int32)});
       },
       is<TypeError>, "F::batch_normalization: running_mean has dtype int32: running_mean.dtype must be floating"},
      {[] {
         F::batch_normalization_relu(real({2, 3}), real({4}), real({4}));
       },
       is<TypeError>,
       "F::batch_normalization_relu: gamma has shape (4,) but x has shape (2, 3): gamma.shape[0] must equal x.shape[1] "
       "(4 != 3)"},
      {[] { F::batch_normalization_relu(absent, real({3}), real({3})); }, is<TypeError>,
       "F::batch_normalization_relu: x is not given: it is required"},
      {[] {
         F::batch_normalization_add_relu(real({2, 3}), real({2, 4}), real({3}), real({3}));
       },
       is<TypeError>,
       "F::batch_normalization_add_relu: residual has shape (2, 4) but x has shape (2, 3): residual.shape must equal "
       "x.shape"},
      {[] {
         F::batch_normalization_add_relu(real({2, 3}), absent, real({3}), real({3}));
       },
       is<TypeError>, "F::batch_normalization_add_relu: residual is not given: it is required"},
      {[] {
         F::batch_normalization_add_relu(absent, real({2, 3}), real({3}), real({3}));
       },
       is<TypeError>, "F::batch_normalization_add_relu: x is not given: it is required"},
      {[] {
         F::fixed_batch_normalization(real({2, 3}), real({3}), real({3}), real({4}), real({3}));
       },
       is<TypeError>,
       "F::fixed_batch_normalization: mean has shape (4,) but gamma has shape (3,): mean.shape must equal gamma.shape"},
      {[] {
         F::fixed_batch_normalization(real({2, 3}), real({3}), real({3}), real({3}), real({4}));
       },
       is<TypeError>,
       "F::fixed_batch_normalization: var has shape (4,) but gamma has shape (3,): var.shape must equal gamma.shape"},
      {[] {
         F::fixed_batch_normalization(real({2, 3}), real({3}), real({3}), real({3}), real({3}), {.eps = -1});
       },
       is<ValueError>, "F::fixed_batch_normalization: eps is -1: it must be at least 0"},
      {[] {
         F::fixed_batch_normalization(real({2, 3}), real({3}), real({3}), absent, real({3}));
       },
       is<TypeError>, "F::fixed_batch_normalization: mean is not given: it is required"},
      {[] { F::fixed_batch_normalization(absent, real({3}), real({3}), real({3}), real({3})); }, is<TypeError>,
       "F::fixed_batch_normalization: x is not given: it is required"},
      {[] {
         F::fixed_batch_normalization_relu(real({2, 3}), real({3}), real({3}), real({4}), real({3}));
       },
       is<TypeError>,
       "F::fixed_batch_normalization_relu: mean has shape (4,) but gamma has shape (3,): mean.shape must equal "
       "gamma.shape"},
      {[] { F::fixed_batch_normalization_relu(absent, real({3}), real({3}), real({3}), real({3})); }, is<TypeError>,
       "F::fixed_batch_normalization_relu: x is not given: it is required"},
      {[] {
         F::fixed_batch_normalization_add_relu(real({2, 3}), real({2, 4}), real({3}), real({3}), real({3}), real({3}));
       },
       is<TypeError>,
       "F::fixed_batch_normalization_add_relu: residual has shape (2, 4) but x has shape (2, 3): residual.shape must "
       "equal x.shape"},
      {[] {
         F::fixed_batch_normalization_add_relu(real({2, 3}), absent, real({3}), real({3}), real({3}), real({3}));
       },
       is<TypeError>, "F::fixed_batch_normalization_add_relu: residual is not given: it is required"},
      {[] {
         F::fixed_batch_normalization(real({2, 3}), absent, real({3}), real({3}), real({3}));
       },
       is<TypeError>, "F::fixed_batch_normalization: gamma is not given: it is required"},
      {[] {
         F::fixed_batch_normalization(real({2, 3}), real({3}), absent, real({3}), real({3}));
       },
       is<TypeError>, "F::fixed_batch_normalization: beta is not given: it is required"},
      {[] {
         F::fixed_batch_normalization(real({2, 3}), real({3}), real({3}), real({3}), absent);
       },
       is<TypeError>, "F::fixed_batch_normalization: var is not given: it is required"},
      {[] {
         F::batch_renormalization(real({2, 3}), real({3}), real({3}), {});
       },
       is<ValueError>, "F::batch_renormalization: running_mean and running_var must be given"},
      {[] {
         F::batch_renormalization(real({2, 3}), real({3}), real({3}),
                                  {.rmax = 0.5, .running_mean = ones({3}), .running_var = ones({3})});
       },
       is<ValueError>, "F::batch_renormalization: rmax is 0.5: it must be at least 1"},
      {[] {
         F::batch_renormalization(real({2, 3}), real({3}), real({3}),
                                  {.dmax = -1, .running_mean = ones({3}), .running_var = ones({3})});
       },
       is<ValueError>, "F::batch_renormalization: dmax is -1: it must be at least 0"},
      {[] {
         F::batch_renormalization(real({2, 3}), real({4}), real({4}),
                                  {.running_mean = ones({3}), .running_var = ones({3})});
       },
       is<TypeError>,
       "F::batch_renormalization: gamma has shape (4,) but x has shape (2, 3): gamma.shape[0] must equal x.shape[1] (4 "
       "!= 3)"},
      {[] {
         F::batch_renormalization(absent, real({3}), real({3}), {.running_mean = ones({3}), .running_var = ones({3})});
       },
       is<TypeError>, "F::batch_renormalization: x is not given: it is required"},
      {[] {
         F::batch_renormalization(real({2, 3}), absent, real({3}),
                                  {.running_mean = ones({3}), .running_var = ones({3})});
       },
       is<TypeError>, "F::batch_renormalization: gamma is not given: it is required"},
      {[] {
         F::batch_renormalization(real({2, 3}), real({3}), real({3}),
                                  {.running_mean = ones({4}), .running_var = ones({3})});
       },
       is<TypeError>,
       "F::batch_renormalization: running_mean has shape (4,) but gamma has shape (3,): running_mean.shape must equal "
       "gamma.shape"},
      {[] {
         F::batch_renormalization(real({2, 3}), real({3}), real({3}),
                                  {.rmax = kNaN, .running_mean = ones({3}), .running_var = ones({3})});
       },
       is<ValueError>, "F::batch_renormalization: rmax is nan: it must be at least 1"},
      {[] {
         F::fixed_batch_renormalization(real({2, 3}), real({3}), real({3}), real({4}), real({3}));
       },
       is<TypeError>,
       "F::fixed_batch_normalization: mean has shape (4,) but gamma has shape (3,): mean.shape must equal gamma.shape"},
      {[] { F::fixed_batch_renormalization(absent, real({3}), real({3}), real({3}), real({3})); }, is<TypeError>,
       "F::fixed_batch_normalization: x is not given: it is required"},
      {[] {
         F::decorrelated_batch_normalization(real({2, 3}), {.groups = 2});
       },
       is<ValueError>,
       "F::decorrelated_batch_normalization: groups is 2 but x has shape (2, 3): groups must divide x.shape[1]"},
      {[] {
         F::decorrelated_batch_normalization(real({2, 3}), {.groups = 0});
       },
       is<ValueError>,
       "F::decorrelated_batch_normalization: groups is 0 but x has shape (2, 3): groups must divide x.shape[1]"},
      {[] { F::decorrelated_batch_normalization(real({3}), {.groups = 1}); }, is<TypeError>,
       "F::decorrelated_batch_normalization: x has shape (3,): x.ndim must be at least 2 (1 < 2)"},
      {[] {
         F::decorrelated_batch_normalization(whole({2, 4}), {.groups = 2});
       },
       is<TypeError>, "F::decorrelated_batch_normalization: x has dtype int32: x.dtype must be floating"},
      {[] { F::decorrelated_batch_normalization(absent); }, is<TypeError>,
       "F::decorrelated_batch_normalization: x is not given: it is required"},
      {[] {
         F::decorrelated_batch_normalization(real({2, 4}), {.groups = 2, .eps = -1});
       },
       is<ValueError>, "F::decorrelated_batch_normalization: eps is -1: it must be at least 0"},
      {[] {
         F::decorrelated_batch_normalization(real({2, 4}), {.groups = 2, .running_mean = ones({3})});
       },
       is<ValueError>, "F::decorrelated_batch_normalization: running_mean has shape (3,): it must be (2, 2)"},
      {[] {
         F::decorrelated_batch_normalization(
             real({2, 4}), {.groups = 2, .running_mean = ones({2, 2}), .running_projection = ones({2, 3, 3})});
       },
       is<ValueError>,
       "F::decorrelated_batch_normalization: running_projection has shape (2, 3, 3): it must be (2, 2, 2)"},
      {[] {
         F::fixed_decorrelated_batch_normalization(real({2, 4}), real({2, 3}), real({2, 2, 2}), 2);
       },
       is<TypeError>,
       "F::fixed_decorrelated_batch_normalization: mean has shape (2, 3): mean.shape[1] must equal 2 (3 != 2)"},
      {[] {
         F::fixed_decorrelated_batch_normalization(real({2, 4}), real({2, 2}), real({2, 2}), 2);
       },
       is<TypeError>,
       "F::fixed_decorrelated_batch_normalization: projection has shape (2, 2): projection.ndim must equal 3 (2 != 3)"},
      {[] {
         F::fixed_decorrelated_batch_normalization(absent, real({2, 2}), real({2, 2, 2}), 2);
       },
       is<TypeError>, "F::fixed_decorrelated_batch_normalization: x is not given: it is required"},
      {[] {
         F::fixed_decorrelated_batch_normalization(real({2, 4}), absent, real({2, 2, 2}), 2);
       },
       is<TypeError>, "F::fixed_decorrelated_batch_normalization: mean is not given: it is required"},
      {[] {
         F::fixed_decorrelated_batch_normalization(real({2, 4}), real({2, 2}), absent, 2);
       },
       is<TypeError>, "F::fixed_decorrelated_batch_normalization: projection is not given: it is required"},
      {[] {
         F::fixed_decorrelated_batch_normalization(real({2, 4}), real({2, 2}), real({2, 2, 2}), 3);
       },
       is<ValueError>,
       "F::fixed_decorrelated_batch_normalization: groups is 3 but x has shape (2, 4): groups must divide x.shape[1]"},
      {[] {
         F::decorrelated_batch_normalization(real({2, 4}), {.groups = -2});
       },
       is<ValueError>,
       "F::decorrelated_batch_normalization: groups is -2 but x has shape (2, 4): groups must divide x.shape[1]"},
  });
}

}  // namespace
}  // namespace kusari::misuse
