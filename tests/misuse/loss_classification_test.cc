#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

F::TreePaths tree() { return {ones({3, 2}, Dtype::int32), ones({3, 2})}; }

const F::Sampler sampler = [](const Shape& shape) { return zeros(shape, Dtype::int32); };

TEST_CASE("misuse: functions of loss, classification") {
  check_misuses({
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
       is<IndexError>, "F::binary_hierarchical_softmax: index 9 is out of range for an axis of size 3"},
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
         F::binary_hierarchical_softmax(real({2, 3}), whole({2}), real({4, 3}),
                                        {zeros({3, 2, 2}, Dtype::int32), zeros({1, 4}, Dtype::float32)});
       },
       is<TypeError>,
       "F::binary_hierarchical_softmax: tree.paths has shape (3, 2, 2) and dtype int32, tree.codes shape (1, 4): they "
       "must be (words, longest path), paths integers"},
      {[] {
         F::binary_hierarchical_softmax(real({2, 3}), whole({2}), real({1, 3}), tree());
       },
       is<IndexError>, "F::binary_hierarchical_softmax: index 1 is out of range for an axis of size 1"},
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
       is<IndexError>, "F::black_out: index 1 is out of range for an axis of size 1"},
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
       is<IndexError>, "F::hinge: index 3 is out of range for an axis of size 3"},
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
       is<IndexError>, "F::negative_sampling: index 1 is out of range for an axis of size 1"},
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
       is<IndexError>, "F::negative_sampling: index 77 is out of range for an axis of size 4"},
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
      {[] { utils::WalkerAlias(std::vector<double>{}); }, is<ValueError>,
       "WalkerAlias: probs sum to 0: at least one must be positive"},
      {[] {
         utils::WalkerAlias(std::vector<double>{0, 0});
       },
       is<ValueError>, "WalkerAlias: probs sum to 0: at least one must be positive"},
      {[] {
         utils::WalkerAlias(std::vector<double>{1, -1});
       },
       is<ValueError>, "WalkerAlias: probs[1] is -1: it must be a number that is not negative"},
      {[] {
         utils::WalkerAlias(std::vector<double>{1, kNaN});
       },
       is<ValueError>, "WalkerAlias: probs[1] is nan: it must be a number that is not negative"},
      {[] {
         utils::WalkerAlias(std::vector<double>{1, kInfinity});
       },
       is<ValueError>, "WalkerAlias: probs[1] is inf: it must be a number that is not negative"},
      {[] { utils::WalkerAlias(std::vector<double>{1}).sample({-2}); }, is<ValueError>,
       "WalkerAlias::sample: shape is (-2,): no size of it may be negative (axis 0 has -2)"},
      {[] {
         utils::WalkerAlias(std::vector<double>{1}).sample({int64_t{1} << 62, 4});
       },
       is<ValueError>, "WalkerAlias::sample: shape is (4611686018427387904, 4): it must hold less than 2^63 elements"},
  });
}

}  // namespace
}  // namespace kusari::misuse
