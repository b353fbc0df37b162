#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

TEST_CASE("misuse: functions of loss, embeddings and distributions") {
  check_misuses({
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
       is<ValueError>, "F::contrastive: margin is 0: it must be positive"},
      {[] {
         F::contrastive(real({2, 3}), real({2, 3}), whole({2}), -1);
       },
       is<ValueError>, "F::contrastive: margin is -1: it must be positive"},
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
         F::triplet(real({2, 3}), real({2, 4}), real({2, 3}));
       },
       is<TypeError>,
       "F::triplet: anchor has shape (2, 3) but positive has shape (2, 4): anchor.shape must equal positive.shape"},
      {[] {
         F::triplet(real({2, 3}), real({2, 3}), real({3, 3}));
       },
       is<TypeError>,
       "F::triplet: anchor has shape (2, 3) but negative has shape (3, 3): anchor.shape must equal negative.shape"},
      {[] {
         F::triplet(real({2, 3}), real({2, 3}), real({2, 3}), 0);
       },
       is<ValueError>, "F::triplet: margin is 0: it must be positive"},
      {[] {
         F::triplet(real({2, 3}), real({2, 3}), real({2, 3}), kNaN);
       },
       is<ValueError>, "F::triplet: margin is nan: it must be positive"},
      {[] {
         F::triplet(absent, real({2, 3}), real({2, 3}));
       },
       is<TypeError>, "F::triplet: anchor is not given: it is required"},
      {[] {
         F::triplet(real({2, 3}), absent, real({2, 3}));
       },
       is<TypeError>, "F::triplet: positive is not given: it is required"},
      {[] {
         F::triplet(real({2, 3}), real({2, 3}), absent);
       },
       is<TypeError>, "F::triplet: negative is not given: it is required"},
      {[] {
         F::triplet(whole({2, 3}), whole({2, 3}), whole({2, 3}));
       },
       is<TypeError>, "F::triplet: anchor has dtype int32: anchor.dtype must be floating"},
      {[] { F::triplet(real({2}), real({2}), real({2})); }, is<TypeError>,
       "F::triplet: anchor has shape (2,): anchor.ndim must be at least 2 (1 < 2)"},
      {[] { F::gaussian_kl_divergence(real({2}), real({3})); }, is<TypeError>,
       "F::gaussian_kl_divergence: mean has shape (2,) and dtype float32 but ln_var has shape (3,) and dtype float32: "
       "they must be equal"},
      {[] { F::gaussian_kl_divergence(absent, real({3})); }, is<TypeError>,
       "F::gaussian_kl_divergence: mean is not given: it is required"},
      {[] { F::gaussian_kl_divergence(real({2}), absent); }, is<TypeError>,
       "F::gaussian_kl_divergence: ln_var is not given: it is required"},
      {[] { F::gaussian_kl_divergence(whole({2}), whole({2})); }, is<TypeError>,
       "F::gaussian_kl_divergence: mean has dtype int32: mean.dtype must be floating"},
      {[] { F::bernoulli_nll(real({2}), real({3})); }, is<TypeError>,
       "F::bernoulli_nll: x has shape (2,) and dtype float32 but y has shape (3,) and dtype float32: they must be "
       "equal"},
      {[] { F::bernoulli_nll(absent, real({3})); }, is<TypeError>, "F::bernoulli_nll: x is not given: it is required"},
      {[] { F::bernoulli_nll(real({2}), absent); }, is<TypeError>, "F::bernoulli_nll: y is not given: it is required"},
      {[] { F::bernoulli_nll(real({2}), wide({2})); }, is<TypeError>,
       "F::bernoulli_nll: x has shape (2,) and dtype float32 but y has shape (2,) and dtype float64: they must be "
       "equal"},
      {[] { F::gaussian_nll(real({2}), real({3}), real({2})); }, is<TypeError>,
       "F::gaussian_nll: x has shape (2,) and dtype float32 but mean has shape (3,) and dtype float32: they must be "
       "equal"},
      {[] { F::gaussian_nll(real({2}), real({2}), real({3})); }, is<TypeError>,
       "F::gaussian_nll: mean has shape (2,) and dtype float32 but ln_var has shape (3,) and dtype float32: they must "
       "be equal"},
      {[] { F::gaussian_nll(absent, real({2}), real({2})); }, is<TypeError>,
       "F::gaussian_nll: x is not given: it is required"},
      {[] { F::gaussian_nll(real({2}), absent, real({2})); }, is<TypeError>,
       "F::gaussian_nll: mean is not given: it is required"},
      {[] { F::gaussian_nll(real({2}), real({2}), absent); }, is<TypeError>,
       "F::gaussian_nll: ln_var is not given: it is required"},
  });
}

}  // namespace
}  // namespace kusari::misuse
