#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

TEST_CASE("misuse: functions of loss, sequences") {
  check_misuses({
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
         F::crf1d(real({3}), {real({2, 3})}, {whole({2})});
       },
       is<TypeError>, "F::crf1d: cost has shape (3,) and dtype float32: it must be a floating matrix (K, K)"},
      {[] {
         F::crf1d(real({3, 3}), {real({2, 4})}, {whole({2})});
       },
       is<TypeError>,
       "F::crf1d: xs[0] has shape (2, 4) and dtype float32 but cost has shape (3, 3) and dtype float32: xs must be "
       "(batch, K) of cost's dtype"},
      {[] {
         F::crf1d(real({3, 3}), {real({2, 3}), real({1, 3})}, {whole({2})});
       },
       is<ValueError>, "F::crf1d: xs has 2 arrays but ys has 1: they must be as many"},
      {[] {
         F::crf1d(real({3, 3}), {real({2, 3})}, {whole({3})});
       },
       is<TypeError>,
       "F::crf1d: ys[0] has shape (3,) and dtype int32 but xs[0] has shape (2, 3): ys must be integers, one per row of "
       "xs"},
      {[] {
         F::crf1d(real({3, 3}), {real({2, 3})}, {real({2})});
       },
       is<TypeError>,
       "F::crf1d: ys[0] has shape (2,) and dtype float32 but xs[0] has shape (2, 3): ys must be integers, one per row "
       "of xs"},
      {[] {
         F::crf1d(real({3, 3}), {}, {});
       },
       is<ValueError>, "F::crf1d: xs is empty: it must have an array per position"},
      {[] {
         F::crf1d(real({3, 3}), {real({1, 3}), real({2, 3})}, {whole({1}), whole({2})});
       },
       is<TypeError>, "F::crf1d: xs[1] has 2 rows but xs[0] has 1: batches must not grow"},
      {[] {
         F::crf1d(real({3, 3}), {real({2, 3})}, {whole({2})}, F::Reduce::sum);
       },
       is<ValueError>, "F::crf1d: reduce must be mean or no"},
      {[] {
         F::crf1d(absent, {real({2, 3})}, {whole({2})});
       },
       is<TypeError>, "F::crf1d: cost is not given: it is required"},
      {[] {
         F::crf1d(real({3, 3}), {absent}, {whole({2})});
       },
       is<TypeError>, "F::crf1d: xs is not given: it is required"},
      {[] {
         F::crf1d(real({3, 3}), {real({2, 3})}, {absent});
       },
       is<TypeError>, "F::crf1d: ys is not given: it is required"},
      {[] {
         F::argmax_crf1d(real({3, 3}), {});
       },
       is<ValueError>, "F::argmax_crf1d: xs is empty: it must have an array per position"},
      {[] {
         F::argmax_crf1d(real({3, 3}), {real({2, 4})});
       },
       is<TypeError>,
       "F::argmax_crf1d: xs[0] has shape (2, 4) and dtype float32 but cost has shape (3, 3) and dtype float32: xs must "
       "be (batch, K) of cost's dtype"},
      {[] {
         F::argmax_crf1d(absent, {real({2, 3})});
       },
       is<TypeError>, "F::argmax_crf1d: cost is not given: it is required"},
      {[] {
         F::argmax_crf1d(real({3, 3}), {absent});
       },
       is<TypeError>, "F::argmax_crf1d: xs is not given: it is required"},
      {[] {
         F::argmax_crf1d(real({3, 3}), {real({1, 3}), real({2, 3})});
       },
       is<TypeError>, "F::argmax_crf1d: xs[1] has 2 rows but xs[0] has 1: batches must not grow"},
  });
}

}  // namespace
}  // namespace kusari::misuse
