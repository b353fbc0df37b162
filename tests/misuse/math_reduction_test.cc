#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

TEST_CASE("misuse: functions of math, reductions") {
  check_misuses({
      {[] { F::prod(real({2}), 1); }, is<IndexError>, "F::prod: axis 1 is out of range for 1 axes"},
      {[] { F::prod(absent); }, is<TypeError>, "F::prod: x is not given: it is required"},
      {[] {
         F::prod(real({2, 2}), {0, -2});
       },
       is<ValueError>, "F::prod: axis -2 comes twice"},
      {[] {
         F::average(real({2, 3}), 2);
       },
       is<IndexError>, "F::average: axis 2 is out of range for 2 axes"},
      {[] {
         F::average(real({2, 3}), {0, 0});
       },
       is<ValueError>, "F::average: axis 0 comes twice"},
      {[] {
         F::average(real({2, 3}), 0, real({3}));
       },
       is<TypeError>, "F::average: x has shape (2, 3) but weights has shape (3,): weights.shape must be (x.shape[0],)"},
      {[] {
         F::average(real({2, 3}), {0, 1}, real({2}));
       },
       is<ValueError>, "F::average: axis has 2 axes: with weights it must be one axis or all"},
      {[] { F::average(whole({2})); }, is<TypeError>, "F::average: x has dtype int32: x.dtype must be floating"},
      {[] { F::average(absent); }, is<TypeError>, "F::average: x is not given: it is required"},
      {[] {
         F::average(real({2, 3}), -3);
       },
       is<IndexError>, "F::average: axis -3 is out of range for 2 axes"},
      {[] {
         F::average(real({2, 3}), 0, wide({2}));
       },
       is<TypeError>,
       "F::average: x has dtype float32 but weights has dtype float64: x.dtype must equal weights.dtype (float32 != "
       "float64)"},
      {[] { F::batch_l2_norm_squared(real({2})); }, is<TypeError>,
       "F::batch_l2_norm_squared: x has shape (2,): x.ndim must be at least 2 (1 < 2)"},
      {[] {
         F::batch_l2_norm_squared(whole({2, 3}));
       },
       is<TypeError>, "F::batch_l2_norm_squared: x has dtype int32: x.dtype must be floating"},
      {[] { F::batch_l2_norm_squared(absent); }, is<TypeError>,
       "F::batch_l2_norm_squared: x is not given: it is required"},
      {[] { F::batch_l2_norm_squared(real({})); }, is<TypeError>,
       "F::batch_l2_norm_squared: x has shape (): x.ndim must be at least 2 (0 < 2)"},
      {[] { F::cumprod(real({2}), 1); }, is<IndexError>, "F::cumprod: axis 1 is out of range for 1 axes"},
      {[] { F::cumprod(absent); }, is<TypeError>, "F::cumprod: x is not given: it is required"},
      {[] { F::cumsum(real({2}), -2); }, is<IndexError>, "F::cumsum: axis -2 is out of range for 1 axes"},
      {[] { F::cumsum(absent); }, is<TypeError>, "F::cumsum: x is not given: it is required"},
      {[] { F::cumsum(absent, 0); }, is<TypeError>, "F::cumsum: x is not given: it is required"},
      {[] { F::logsumexp(real({2}), 1); }, is<IndexError>, "F::logsumexp: axis 1 is out of range for 1 axes"},
      {[] { F::logsumexp(whole({2})); }, is<TypeError>, "F::logsumexp: x has dtype int32: x.dtype must be floating"},
      {[] { F::logsumexp(absent); }, is<TypeError>, "F::logsumexp: x is not given: it is required"},
      {[] {
         F::logsumexp(real({2, 3}), {0, 0});
       },
       is<ValueError>, "F::logsumexp: axis 0 comes twice"},
      {[] { F::argmax(real({2}), 1); }, is<IndexError>, "F::argmax: axis 1 is out of range for 1 axes"},
      {[] { F::argmax(real({0})); }, is<ValueError>,
       "F::argmax: x has shape (0,): an axis without elements has no extreme"},
      {[] { F::argmin(absent); }, is<TypeError>, "F::argmin: x is not given: it is required"},
      {[] { F::argmax(absent); }, is<TypeError>, "F::argmax: x is not given: it is required"},
      {[] { F::argmin(real({0})); }, is<ValueError>,
       "F::argmin: x has shape (0,): an axis without elements has no extreme"},
      {[] { F::argmin(real({2}), 1); }, is<IndexError>, "F::argmin: axis 1 is out of range for 1 axes"},
      {[] {
         F::argmax(real({2, 0}), 1);
       },
       is<ValueError>, "F::argmax: x has shape (2, 0): an axis without elements has no extreme"},
      {[] {
         F::sum_to(real({2, 3}), {2});
       },
       is<TypeError>, "F::sum_to: x has shape (2, 3), to which shape (2,) does not broadcast"},
      {[] { F::sum_to(absent, {2}); }, is<TypeError>, "F::sum_to: x is not given: it is required"},
      {[] {
         F::sum_to(real({2}), {2, 3});
       },
       is<TypeError>, "F::sum_to: x has shape (2,), to which shape (2, 3) does not broadcast"},
      {[] {
         F::sum_to(real({2, 3}), {-1});
       },
       is<TypeError>, "F::sum_to: x has shape (2, 3), to which shape (-1,) does not broadcast"},
  });
}

}  // namespace
}  // namespace kusari::misuse
