#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

const F::Sampler sampler = [](const Shape& shape) { return zeros(shape, Dtype::int32); };

TEST_CASE("misuse: functions of loss, 2") {
  check_misuses({
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
         F::crf1d(real({3, 3}), {real({2, 3})}, {Variable(full({2}, 5, Dtype::int32), false)});
       },
       is<IndexError>, "F::get_item: index 5 is out of range for 3 rows"},
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
      {[] {
         F::cross_covariance(real({2, 3}), real({3, 3}));
       },
       is<TypeError>,
       "F::cross_covariance: y has shape (2, 3) but z has shape (3, 3): y.shape[0] must equal z.shape[0] (2 != 3)"},
      {[] { F::cross_covariance(real({2}), real({2})); }, is<TypeError>,
       "F::cross_covariance: y has shape (2,): y.ndim must equal 2 (1 != 2)"},
      {[] {
         F::cross_covariance(real({2, 3}), wide({2, 3}));
       },
       is<TypeError>,
       "F::cross_covariance: y has dtype float32 but z has dtype float64: y.dtype must equal z.dtype (float32 != "
       "float64)"},
      {[] {
         F::cross_covariance(absent, real({2, 3}));
       },
       is<TypeError>, "F::cross_covariance: y is not given: it is required"},
      {[] {
         F::cross_covariance(real({2, 3}), absent);
       },
       is<TypeError>, "F::cross_covariance: z is not given: it is required"},
      {[] { F::decov(real({2})); }, is<TypeError>, "F::decov: h has shape (2,): h.ndim must equal 2 (1 != 2)"},
      {[] {
         F::decov(whole({2, 3}));
       },
       is<TypeError>, "F::decov: h has dtype int32: h.dtype must be floating"},
      {[] { F::decov(absent); }, is<TypeError>, "F::decov: h is not given: it is required"},
      {[] {
         F::discriminative_margin_based_clustering_loss(real({1, 2, 3, 3}), whole({1, 3, 4}), 0.5, 1.5, 2);
       },
       is<TypeError>,
       "F::discriminative_margin_based_clustering_loss: embeddings has shape (1, 2, 3, 3) but labels has shape (1, 3, "
       "4): embeddings.shape[3] must equal labels.shape[2] (3 != 4)"},
      {[] {
         F::discriminative_margin_based_clustering_loss(real({2, 3, 3}), whole({1, 3, 3}), 0.5, 1.5, 2);
       },
       is<TypeError>,
       "F::discriminative_margin_based_clustering_loss: embeddings has shape (2, 3, 3): embeddings.ndim must equal 4 "
       "(3 != 4)"},
      {[] {
         F::discriminative_margin_based_clustering_loss(real({1, 2, 3, 3}), real({1, 3, 3}), 0.5, 1.5, 2);
       },
       is<TypeError>,
       "F::discriminative_margin_based_clustering_loss: labels has dtype float32: labels.dtype must be an integer or "
       "bool"},
      {[] {
         F::discriminative_margin_based_clustering_loss(real({1, 2, 3, 3}), whole({1, 3, 3}), 0.5, 1.5, 0);
       },
       is<ValueError>,
       "F::discriminative_margin_based_clustering_loss: max_embedding_dim is 0 but embeddings has shape (1, 2, 3, 3): "
       "it must be embeddings.shape[1] and positive"},
      {[] {
         F::discriminative_margin_based_clustering_loss(real({1, 2, 3, 3}), whole({1, 3, 3}), 0.5, 1.5, 2, {.norm = 3});
       },
       is<ValueError>, "F::discriminative_margin_based_clustering_loss: norm is 3: it must be 1 or 2"},
      {[] {
         F::discriminative_margin_based_clustering_loss(absent, whole({1, 3, 3}), 0.5, 1.5, 2);
       },
       is<TypeError>, "F::discriminative_margin_based_clustering_loss: embeddings is not given: it is required"},
      {[] {
         F::discriminative_margin_based_clustering_loss(real({1, 2, 3, 3}), absent, 0.5, 1.5, 2);
       },
       is<TypeError>, "F::discriminative_margin_based_clustering_loss: labels is not given: it is required"},
      {[] {
         F::discriminative_margin_based_clustering_loss(real({1, 2, 3, 3}), whole({1, 3, 3}), kNaN, 1.5, 2);
       },
       is<ValueError>, "F::discriminative_margin_based_clustering_loss: delta_v is nan: it must be a number"},
      {[] {
         F::hinge(real({2, 3}), whole({3}));
       },
       is<TypeError>, "F::hinge: x has shape (2, 3) but t has shape (3,): x.shape[0] must equal t.shape[0] (2 != 3)"},
      {[] {
         F::hinge(real({2, 3}), real({2}));
       },
       is<TypeError>, "F::hinge: t has dtype float32: t.dtype must be an integer or bool"},
      {[] { F::hinge(real({2}), whole({2})); }, is<TypeError>,
       "F::hinge: x has shape (2,): x.ndim must equal 2 (1 != 2)"},
      {[] {
         F::hinge(real({2, 3}), Variable(full({2}, 3, Dtype::int32), false));
       },
       is<IndexError>, "F::hinge: index 3 is out of range for 3 rows"},
      {[] { F::hinge(absent, whole({2})); }, is<TypeError>, "F::hinge: x is not given: it is required"},
      {[] {
         F::hinge(real({2, 3}), absent);
       },
       is<TypeError>, "F::hinge: t is not given: it is required"},
      {[] {
         F::hinge(whole({2, 3}), whole({2}));
       },
       is<TypeError>, "F::hinge: x has dtype int32: x.dtype must be floating"},
      {[] {
         F::huber_loss(real({2, 3}), real({2, 4}), 1);
       },
       is<TypeError>, "F::huber_loss: x has shape (2, 3) but t has shape (2, 4): x.shape must equal t.shape"},
      {[] {
         F::huber_loss(real({2, 3}), wide({2, 3}), 1);
       },
       is<TypeError>, "F::huber_loss: x has dtype float32 but t has dtype float64: x.dtype must equal t.dtype"},
      {[] {
         F::huber_loss(real({2, 3}), real({2, 3}), -1);
       },
       is<ValueError>, "F::huber_loss: delta is -1.000000: it must not be negative"},
      {[] {
         F::huber_loss(real({2, 3}), real({2, 3}), kNaN);
       },
       is<ValueError>, "F::huber_loss: delta is nan: it must not be negative"},
      {[] { F::huber_loss(real({2}), real({2}), 1); }, is<TypeError>,
       "F::huber_loss: x has shape (2,): x.ndim must be at least 2 to sum along the second axis (1 < 2)"},
      {[] {
         F::huber_loss(absent, real({2, 3}), 1);
       },
       is<TypeError>, "F::huber_loss: x is not given: it is required"},
      {[] {
         F::huber_loss(real({2, 3}), absent, 1);
       },
       is<TypeError>, "F::huber_loss: t is not given: it is required"},
      {[] {
         F::negative_sampling(real({2, 3}), whole({3}), real({4, 3}), sampler, 2);
       },
       is<TypeError>,
       "F::negative_sampling: t has shape (3,) and dtype int32 but x has shape (2, 3) and dtype float32: t must be "
       "integers, one per row of x"},
      {[] {
         F::negative_sampling(real({2, 3}), whole({2}), real({4, 2}), sampler, 2);
       },
       is<TypeError>,
       "F::negative_sampling: W has shape (4, 2) and dtype float32 but x has shape (2, 3) and dtype float32: W must be "
       "(V, D) where x is (N, D)"},
      {[] {
         F::negative_sampling(real({2, 3}), whole({2}), real({4, 3}), sampler, -1);
       },
       is<ValueError>, "F::negative_sampling: sample_size is -1: it must not be negative"},
      {[] {
         F::negative_sampling(real({2, 3}), whole({2}), real({1, 3}), sampler, 2);
       },
       is<IndexError>, "F::negative_sampling: index 1 is out of range for 1 rows"},
      {[] {
         F::negative_sampling(real({2, 3}), whole({2}), real({4, 3}), {}, 2);
       },
       is<ValueError>, "F::negative_sampling: sampler is not given: it is required"},
      {[] {
         F::negative_sampling(
             real({2, 3}), whole({2}), real({4, 3}), [](const Shape&) { return zeros({7}, Dtype::int32); }, 2);
       },
       is<ValueError>,
       "F::negative_sampling: the sampler gave shape (7,) and dtype int32: it must give integers of shape (2, 3)"},
      {[] {
         F::negative_sampling(
             real({2, 3}), whole({2}), real({4, 3}), [](const Shape& s) { return zeros(s); }, 2);
       },
       is<ValueError>,
       "F::negative_sampling: the sampler gave shape (2, 3) and dtype float32: it must give integers of shape (2, 3)"},
      {[] {
         F::negative_sampling(
             real({2, 3}), whole({2}), real({4, 3}), [](const Shape& s) { return full(s, 77, Dtype::int32); }, 2);
       },
       is<IndexError>, "F::negative_sampling: index 77 is out of range for 4 rows"},
      {[] {
         F::negative_sampling(real({2, 3}), whole({2}), real({4, 3}), sampler, 2, {.reduce = F::Reduce::mean});
       },
       is<ValueError>, "F::negative_sampling: reduce must be sum or no"},
      {[] {
         F::negative_sampling(absent, whole({2}), real({4, 3}), sampler, 2);
       },
       is<TypeError>, "F::negative_sampling: x is not given: it is required"},
      {[] {
         F::negative_sampling(real({2, 3}), absent, real({4, 3}), sampler, 2);
       },
       is<TypeError>, "F::negative_sampling: t is not given: it is required"},
      {[] {
         F::negative_sampling(real({2, 3}), whole({2}), absent, sampler, 2);
       },
       is<TypeError>, "F::negative_sampling: W is not given: it is required"},
      {[] {
         F::negative_sampling(
             real({2, 3}), whole({2}), real({4, 3}), [](const Shape&) { return Array(); }, 2);
       },
       is<ValueError>, "F::negative_sampling: the sampler gave nothing: it must give integers of shape (2, 3)"},
  });
}

}  // namespace
}  // namespace kusari::misuse
