#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

F::TreePaths tree() { return {ones({3, 2}, Dtype::int32), ones({3, 2})}; }

TEST_CASE("misuse: functions of loss, 1") {
  check_misuses({
      {[] { F::absolute_error(real({2}), real({3})); }, is<TypeError>,
       "F::absolute_error: x0 has shape (2,) but x1 has shape (3,): x0.shape must equal x1.shape"},
      {[] { F::absolute_error(real({2}), wide({2})); }, is<TypeError>,
       "F::absolute_error: x0 has dtype float32 but x1 has dtype float64: x0.dtype must equal x1.dtype (float32 != "
       "float64)"},
      {[] { F::absolute_error(whole({2}), whole({2})); }, is<TypeError>,
       "F::absolute_error: x0 has dtype int32: x0.dtype must be floating"},
      {[] { F::absolute_error(absent, real({2})); }, is<TypeError>,
       "F::absolute_error: x0 is not given: it is required"},
      {[] { F::absolute_error(real({2}), absent); }, is<TypeError>,
       "F::absolute_error: x1 is not given: it is required"},
      {[] { F::mean_absolute_error(real({2}), real({3})); }, is<TypeError>,
       "F::mean_absolute_error: x0 has shape (2,) but x1 has shape (3,): x0.shape must equal x1.shape"},
      {[] { F::mean_absolute_error(absent, real({3})); }, is<TypeError>,
       "F::mean_absolute_error: x0 is not given: it is required"},
      {[] { F::mean_squared_error(real({2}), real({3})); }, is<TypeError>,
       "F::mean_squared_error: x0 has shape (2,) but x1 has shape (3,): x0.shape must equal x1.shape"},
      {[] { F::mean_squared_error(absent, real({3})); }, is<TypeError>,
       "F::mean_squared_error: x0 is not given: it is required"},
      {[] { F::mean_squared_error(whole({2}), whole({2})); }, is<TypeError>,
       "F::mean_squared_error: x0 has dtype int32: x0.dtype must be floating"},
      {[] { F::squared_error(real({2}), real({3})); }, is<TypeError>,
       "F::squared_error: x0 has shape (2,) but x1 has shape (3,): x0.shape must equal x1.shape"},
      {[] { F::squared_error(absent, real({3})); }, is<TypeError>, "F::squared_error: x0 is not given: it is required"},
      {[] { F::squared_difference(real({2}), real({3})); }, is<TypeError>,
       "F::squared_error: x0 has shape (2,) but x1 has shape (3,): x0.shape must equal x1.shape"},
      {[] {
         F::binary_hierarchical_softmax(real({2, 3}), whole({3}), real({4, 3}), tree());
       },
       is<TypeError>,
       "F::binary_hierarchical_softmax: t has shape (3,) and dtype int32 but x has shape (2, 3) and dtype float32: t "
       "must be integers, one per row of x"},
      {[] {
         F::binary_hierarchical_softmax(real({2, 3}), whole({2}), real({4, 2}), tree());
       },
       is<TypeError>,
       "F::binary_hierarchical_softmax: W has shape (4, 2) and dtype float32 but x has shape (2, 3) and dtype float32: "
       "W must be (V, D) where x is (N, D)"},
      {[] {
         F::binary_hierarchical_softmax(real({2, 3}), real({2}), real({4, 3}), tree());
       },
       is<TypeError>,
       "F::binary_hierarchical_softmax: t has shape (2,) and dtype float32 but x has shape (2, 3) and dtype float32: t "
       "must be integers, one per row of x"},
      {[] {
         F::binary_hierarchical_softmax(real({2, 3}), Variable(full({2}, 9, Dtype::int32), false), real({4, 3}),
                                        tree());
       },
       is<IndexError>, "F::binary_hierarchical_softmax: index 9 is out of range for 3 rows"},
      {[] {
         F::binary_hierarchical_softmax(absent, whole({2}), real({4, 3}), tree());
       },
       is<TypeError>, "F::binary_hierarchical_softmax: x is not given: it is required"},
      {[] {
         F::binary_hierarchical_softmax(real({2, 3}), absent, real({4, 3}), tree());
       },
       is<TypeError>, "F::binary_hierarchical_softmax: t is not given: it is required"},
      {[] {
         F::binary_hierarchical_softmax(real({2, 3}), whole({2}), absent, tree());
       },
       is<TypeError>, "F::binary_hierarchical_softmax: W is not given: it is required"},
      {[] {
         F::binary_hierarchical_softmax(real({2, 3}), whole({2}), real({4, 3}), {});
       },
       is<TypeError>, "F::binary_hierarchical_softmax: tree.paths is not given: it is required"},
      {[] {
         F::binary_hierarchical_softmax(real({2, 3}), whole({2}), real({1, 3}), tree());
       },
       is<IndexError>, "F::binary_hierarchical_softmax: index 1 is out of range for 1 rows"},
      {[] {
         F::black_out(real({2, 3}), whole({2}), real({4, 3}), whole({3, 5}));
       },
       is<TypeError>,
       "F::black_out: samples has shape (3, 5) and dtype int32 but x has shape (2, 3): samples must be integers (N, S) "
       "where x is (N, D)"},
      {[] {
         F::black_out(real({2, 3}), whole({2}), real({4, 2}), whole({2, 5}));
       },
       is<TypeError>,
       "F::black_out: W has shape (4, 2) and dtype float32 but x has shape (2, 3) and dtype float32: W must be (V, D) "
       "where x is (N, D)"},
      {[] {
         F::black_out(real({2, 3}), whole({2}), real({1, 3}), whole({2, 5}));
       },
       is<IndexError>, "F::black_out: index 1 is out of range for 1 rows"},
      {[] {
         F::black_out(real({2, 3}), whole({2}), real({4, 3}), real({2, 5}));
       },
       is<TypeError>,
       "F::black_out: samples has shape (2, 5) and dtype float32 but x has shape (2, 3): samples must be integers (N, "
       "S) where x is (N, D)"},
      {[] {
         F::black_out(real({2, 3}), whole({2}), real({4, 3}), whole({2, 5}), F::Reduce::sum);
       },
       is<ValueError>, "F::black_out: reduce must be mean or no"},
      {[] {
         F::black_out(absent, whole({2}), real({4, 3}), whole({2, 5}));
       },
       is<TypeError>, "F::black_out: x is not given: it is required"},
      {[] {
         F::black_out(real({2, 3}), absent, real({4, 3}), whole({2, 5}));
       },
       is<TypeError>, "F::black_out: t is not given: it is required"},
      {[] {
         F::black_out(real({2, 3}), whole({2}), absent, whole({2, 5}));
       },
       is<TypeError>, "F::black_out: W is not given: it is required"},
      {[] {
         F::black_out(real({2, 3}), whole({2}), real({4, 3}), absent);
       },
       is<TypeError>, "F::black_out: samples is not given: it is required"},
      {[] {
         F::black_out(real({2, 3}), whole({2}), real({4, 3}), whole({2}));
       },
       is<TypeError>,
       "F::black_out: samples has shape (2,) and dtype int32 but x has shape (2, 3): samples must be integers (N, S) "
       "where x is (N, D)"},
      {[] {
         F::connectionist_temporal_classification(kNothing, whole({2, 1}), 0);
       },
       is<ValueError>, "F::connectionist_temporal_classification: x is empty: it must have an array per frame"},
      {[] {
         F::connectionist_temporal_classification({real({2, 3}), real({2, 3})}, whole({3, 1}), 0);
       },
       is<TypeError>,
       "F::connectionist_temporal_classification: t has shape (3, 1) but x has shape (2, 2, 3): t.shape[0] must equal "
       "x.shape[1] (3 != 2)"},
      {[] {
         F::connectionist_temporal_classification({real({2, 3}), real({2, 4})}, whole({2, 1}), 0);
       },
       is<TypeError>,
       "F::connectionist_temporal_classification: x[1] has shape (2, 4) and dtype float32 but x[0] has shape (2, 3) "
       "and dtype float32: all frames must be alike"},
      {[] {
         F::connectionist_temporal_classification({real({2, 3}), real({2, 3})}, whole({2, 1}), 3);
       },
       is<ValueError>, "F::connectionist_temporal_classification: blank_symbol is 3: it must be in [0, 3)"},
      {[] {
         F::connectionist_temporal_classification({real({2, 3}), real({2, 3})}, whole({2, 1}), -1);
       },
       is<ValueError>, "F::connectionist_temporal_classification: blank_symbol is -1: it must be in [0, 3)"},
      {[] {
         F::connectionist_temporal_classification({real({2, 3}), real({2, 3})}, real({2, 1}), 0);
       },
       is<TypeError>,
       "F::connectionist_temporal_classification: t has dtype float32: t.dtype must be an integer or bool"},
      {[] {
         F::connectionist_temporal_classification({real({2, 3}), real({2, 3})},
                                                  Variable(full({2, 1}, 7, Dtype::int32), false), 0);
       },
       is<IndexError>, "F::connectionist_temporal_classification: label 7 in t must be in [0, 3)"},
      {[] {
         F::connectionist_temporal_classification({real({2, 3})}, whole({2, 1}), 0,
                                                  {.input_length = ones({3}, Dtype::int32)});
       },
       is<TypeError>,
       "F::connectionist_temporal_classification: input_length has shape (3,) but x has shape (1, 2, 3): "
       "input_length.shape[0] must equal x.shape[1] (3 != 2)"},
      {[] {
         F::connectionist_temporal_classification({real({2, 3})}, whole({2, 1}), 0,
                                                  {.label_length = full({2}, 4, Dtype::int32)});
       },
       is<ValueError>, "F::connectionist_temporal_classification: label_length[0] is 4: it must be in [0, 1]"},
      {[] {
         F::connectionist_temporal_classification({real({2, 3})}, whole({2, 1}), 0,
                                                  {.input_length = full({2}, 4, Dtype::int32)});
       },
       is<ValueError>, "F::connectionist_temporal_classification: input_length[0] is 4: it must be in [0, 1]"},
      {[] {
         F::connectionist_temporal_classification({real({2, 3})}, whole({2, 1}), 0, {.reduce = F::Reduce::sum});
       },
       is<ValueError>, "F::connectionist_temporal_classification: reduce must be mean or no"},
      {[] {
         F::connectionist_temporal_classification({absent}, whole({2, 1}), 0);
       },
       is<TypeError>, "F::connectionist_temporal_classification: x is not given: it is required"},
      {[] {
         F::connectionist_temporal_classification({real({2, 3})}, absent, 0);
       },
       is<TypeError>, "F::connectionist_temporal_classification: t is not given: it is required"},
      {[] {
         F::connectionist_temporal_classification({real({2, 3})}, whole({2}), 0);
       },
       is<TypeError>, "F::connectionist_temporal_classification: t has shape (2,): t.ndim must equal 2 (1 != 2)"},
      {[] {
         F::contrastive(real({2, 3}), real({2, 4}), whole({2}));
       },
       is<TypeError>, "F::contrastive: x0 has shape (2, 3) but x1 has shape (2, 4): x0.shape must equal x1.shape"},
      {[] {
         F::contrastive(real({2, 3}), real({2, 3}), whole({3}));
       },
       is<TypeError>,
       "F::contrastive: x0 has shape (2, 3) but y has shape (3,): x0.shape[0] must equal y.shape[0] (2 != 3)"},
      {[] {
         F::contrastive(real({2, 3}), real({2, 3}), real({2}));
       },
       is<TypeError>, "F::contrastive: y has dtype float32: y.dtype must be an integer or bool"},
      {[] {
         F::contrastive(real({2, 3}), real({2, 3}), whole({2}), 0);
       },
       is<ValueError>, "F::contrastive: margin is 0.000000: it must be positive"},
      {[] {
         F::contrastive(real({2, 3}), real({2, 3}), whole({2}), -1);
       },
       is<ValueError>, "F::contrastive: margin is -1.000000: it must be positive"},
      {[] {
         F::contrastive(real({2, 3}), real({2, 3}), whole({2}), kNaN);
       },
       is<ValueError>, "F::contrastive: margin is nan: it must be positive"},
      {[] {
         F::contrastive(absent, real({2, 3}), whole({2}));
       },
       is<TypeError>, "F::contrastive: x0 is not given: it is required"},
      {[] {
         F::contrastive(real({2, 3}), absent, whole({2}));
       },
       is<TypeError>, "F::contrastive: x1 is not given: it is required"},
      {[] {
         F::contrastive(real({2, 3}), real({2, 3}), absent);
       },
       is<TypeError>, "F::contrastive: y is not given: it is required"},
      {[] {
         F::contrastive(real({0, 3}), real({0, 3}), whole({0}));
       },
       is<TypeError>, "F::contrastive: x0 has shape (0, 3): x0.shape[0] must be greater than 0 (0 <= 0)"},
      {[] { F::contrastive(real({2}), real({2}), whole({2})); }, is<TypeError>,
       "F::contrastive: x0 has shape (2,): x0.ndim must equal 2 (1 != 2)"},
  });
}

}  // namespace
}  // namespace kusari::misuse
