#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

TEST_CASE("misuse: functions of loss, 3") {
  check_misuses({
      {[] { F::sigmoid_cross_entropy(real({2}), whole({3})); }, is<TypeError>,
       "F::sigmoid_cross_entropy: x has shape (2,) but t has shape (3,): x.shape must equal t.shape"},
      {[] { F::sigmoid_cross_entropy(real({2}), real({2})); }, is<TypeError>,
       "F::sigmoid_cross_entropy: t has dtype float32: t.dtype must be an integer or bool"},
      {[] { F::sigmoid_cross_entropy(whole({2}), whole({2})); }, is<TypeError>,
       "F::sigmoid_cross_entropy: x has dtype int32: x.dtype must be floating"},
      {[] { F::sigmoid_cross_entropy(real({2}), whole({2}), {.reduce = F::Reduce::sum}); }, is<ValueError>,
       "F::sigmoid_cross_entropy: reduce must be mean or no"},
      {[] { F::sigmoid_cross_entropy(absent, whole({2})); }, is<TypeError>,
       "F::sigmoid_cross_entropy: x is not given: it is required"},
      {[] { F::sigmoid_cross_entropy(real({2}), absent); }, is<TypeError>,
       "F::sigmoid_cross_entropy: t is not given: it is required"},
      {[] {
         F::softmax_cross_entropy(real({2, 3}), whole({3}));
       },
       is<TypeError>,
       "F::softmax_cross_entropy: t has shape (3,) but x has shape (2, 3): t.shape[0] must equal x.shape[0] (3 != 2)"},
      {[] { F::softmax_cross_entropy(real({2}), whole({2})); }, is<TypeError>,
       "F::softmax_cross_entropy: x has shape (2,): x.ndim must be at least 2 (1 < 2)"},
      {[] {
         F::softmax_cross_entropy(real({2, 3}), real({2, 4}));
       },
       is<TypeError>, "F::softmax_cross_entropy: t has dtype float32: t.dtype must be an integer or bool"},
      {[] {
         F::softmax_cross_entropy(real({2, 3}), wide({2, 3}));
       },
       is<TypeError>,
       "F::softmax_cross_entropy: x has shape (2, 3) and dtype float32: with a floating t, x.ndim must be at least 2 "
       "and t.dtype (float64) must equal x.dtype"},
      {[] {
         F::softmax_cross_entropy(real({2, 3}), whole({2}), {.class_weight = ones({4})});
       },
       is<ValueError>,
       "F::softmax_cross_entropy: x has shape (2, 3) but class_weight has shape (4,): class_weight.shape must be "
       "(x.shape[1],)"},
      {[] {
         F::softmax_cross_entropy(real({2, 3}), whole({2}), {.class_weight = ones({3}, Dtype::float64)});
       },
       is<ValueError>,
       "F::softmax_cross_entropy: x has dtype float32 but class_weight has dtype float64: they must be equal"},
      {[] {
         F::softmax_cross_entropy(real({2, 3}), whole({2}), {.reduce = F::Reduce::sum});
       },
       is<ValueError>, "F::softmax_cross_entropy: reduce must be mean or no"},
      {[] {
         F::softmax_cross_entropy(real({2, 3, 4}), whole({2, 5}));
       },
       is<TypeError>,
       "F::softmax_cross_entropy: t has shape (2, 5) but x has shape (2, 3, 4): t.shape[1] must equal x.shape[2] (5 != "
       "4)"},
      {[] { F::softmax_cross_entropy(absent, whole({2})); }, is<TypeError>,
       "F::softmax_cross_entropy: x is not given: it is required"},
      {[] {
         F::softmax_cross_entropy(real({2, 3}), absent);
       },
       is<TypeError>, "F::softmax_cross_entropy: t is not given: it is required"},
      {[] {
         F::softmax_cross_entropy(whole({2, 3}), whole({2}));
       },
       is<TypeError>, "F::softmax_cross_entropy: x has dtype int32: x.dtype must be floating"},
      {[] {
         F::softmax_cross_entropy(real({2, 3}), whole({2}), {.class_weight = ones({3, 1})});
       },
       is<ValueError>,
       "F::softmax_cross_entropy: x has shape (2, 3) but class_weight has shape (3, 1): class_weight.shape must be "
       "(x.shape[1],)"},
      {[] {
         F::softmax_cross_entropy(real({2, 3}), real({2, 3}), {.class_weight = ones({4})});
       },
       is<ValueError>,
       "F::softmax_cross_entropy: x has shape (2, 3) but class_weight has shape (4,): class_weight.shape must be "
       "(x.shape[1],)"},
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
       is<ValueError>, "F::triplet: margin is 0.000000: it must be positive"},
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
      {[] { utils::WalkerAlias(std::vector<double>{}); }, is<ValueError>,
       "WalkerAlias: probs sum to 0: at least one must be positive"},
      {[] {
         utils::WalkerAlias(std::vector<double>{0, 0});
       },
       is<ValueError>, "WalkerAlias: probs sum to 0: at least one must be positive"},
      {[] {
         utils::WalkerAlias(std::vector<double>{1, -1});
       },
       is<ValueError>, "WalkerAlias: probs[1] is -1.000000: it must be a number that is not negative"},
      {[] {
         utils::WalkerAlias(std::vector<double>{1, kNaN});
       },
       is<ValueError>, "WalkerAlias: probs[1] is nan: it must be a number that is not negative"},
      {[] {
         utils::WalkerAlias(std::vector<double>{1, kInfinity});
       },
       is<ValueError>, "WalkerAlias: probs[1] is inf: it must be a number that is not negative"},
      {[] { utils::WalkerAlias(std::vector<double>{1}).sample({-2}); }, is<ValueError>,
       "WalkerAlias::sample: shape is (-2,): no size of it may be negative"},
      {[] {
         F::matmul(real({2, 3}), real({4, 5}));
       },
       is<TypeError>,
       "F::matmul: a has shape (2, 3) but b has shape (4, 5): a.shape[-1] must equal b.shape[-2] (3 != 4)"},
      {[] { F::matmul(real({}), real({2})); }, is<TypeError>,
       "F::matmul: a has shape (): a.ndim must be at least 1 (0 < 1)"},
      {[] {
         F::matmul(real({2, 3, 4}), real({3, 4, 5}));
       },
       is<TypeError>, "F::matmul: shapes (2,) and (3,) do not broadcast: axis 0 has sizes 2 and 3"},
      {[] { F::matmul(absent, real({2})); }, is<TypeError>, "F::matmul: a is not given: it is required"},
      {[] {
         F::matmul(real({2, 3}), real({2, 3}), {.transa = true, .transb = true});
       },
       is<TypeError>,
       "F::matmul: a has shape (2, 3) but b has shape (2, 3): a.shape[-2] must equal b.shape[-1] (2 != 3)"},
      {[] { F::matmul(real({3}), real({4})); }, is<TypeError>,
       "F::matmul: a has shape (1, 3) but b has shape (4, 1): a.shape[-1] must equal b.shape[-2] (3 != 4)"},
  });
}

}  // namespace
}  // namespace kusari::misuse
