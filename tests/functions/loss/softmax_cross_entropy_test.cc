#include "kusari/framework/functions/loss/softmax_cross_entropy.h"

#include <cmath>
#include <limits>

#include "kusari/framework/core/config.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;
using F::Reduce;
using CrossEntropyOptions = F::SoftmaxCrossEntropyOptions;

// The losses of labels t for scores x of shape (outer, n, inner).
std::vector<double> cross_entropies(const Array& x, const std::vector<int>& t, size_t n, size_t inner, int ignored = -1,
                                    const std::vector<double>& weight = {}) {
  const std::vector<double> scores = x.to_vector<double>();
  std::vector<double> result;
  for (size_t i = 0; i < t.size(); ++i) {
    const auto at = [&](size_t k) { return scores[(i / inner * n + k) * inner + i % inner]; };
    double sum = 0;
    for (size_t k = 0; k < n; ++k) sum += std::exp(at(k));
    const auto label = static_cast<size_t>(t[i]);
    result.push_back(t[i] == ignored ? 0 : (weight.empty() ? 1 : weight[label]) * (std::log(sum) - at(label)));
  }
  return result;
}

double total(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum;
}

TEST_CASE("softmax_cross_entropy") {
  const std::vector<int> labels = {0, 2, -1, 1};
  const Array t = array(labels, test_device());
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    const Array x = uniform({4, 3}, -2, 2).astype(dtype);
    const std::vector<double> each = cross_entropies(x, labels, 3, 1);
    CHECK(F::softmax_cross_entropy(x, t).dtype() == dtype);
    check_close(F::softmax_cross_entropy(x, t), {}, {total(each) / 3}, 2);
    check_close(F::softmax_cross_entropy(x, t.astype(Dtype::int64)), {}, {total(each) / 3}, 2);
    check_close(F::softmax_cross_entropy(x, t, {.normalize = false}), {}, {total(each) / 4}, 2);
    check_close(F::softmax_cross_entropy(x, t, {.reduce = Reduce::no}), {4}, each, 2);
    check_close(F::softmax_cross_entropy(x, array<int>({0, 2, 2, 1}, test_device()), {.ignore_label = 2}), {},
                {total(cross_entropies(x, {0, 2, 2, 1}, 3, 1, 2)) / 2}, 2);
    const std::vector<double> weight = {0.5, 2, 0};
    check_close(F::softmax_cross_entropy(x, t, {.class_weight = array(weight, test_device()).astype(dtype)}), {},
                {total(cross_entropies(x, labels, 3, 1, -1, weight)) / 3}, 2);
  }
}

TEST_CASE("softmax_cross_entropy takes class weights of any dtype") {
  const std::vector<int> labels = {0, 2, 1, 1};
  const Array t = array(labels, test_device());
  const std::vector<double> weight = {0.5, 2, 1};
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    const Variable x(uniform({4, 3}, -2, 2).astype(dtype));
    const double expected = total(cross_entropies(x.array(), labels, 3, 1, -1, weight)) / 4;
    for (const Dtype of_weight : {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64}) {
      CAPTURE(name(of_weight));
      const Array w = array(weight, test_device()).astype(of_weight);
      const auto loss = [&](const CrossEntropyOptions& options) { return F::softmax_cross_entropy(x, t, options); };
      CHECK(loss({.class_weight = w}).dtype() == dtype);
      check_close(loss({.class_weight = w}), {}, {expected}, 2);
      const Array same = array(weight, test_device()).astype(dtype);
      CHECK(gradient(loss({.class_weight = w}), x) == gradient(loss({.class_weight = same}), x));
      const Array target = full({4, 3}, 0.25, dtype, test_device());
      CHECK(F::softmax_cross_entropy(x, target, {.class_weight = w}).to_vector<double>() ==
            F::softmax_cross_entropy(x, target, {.class_weight = same}).to_vector<double>());
    }
    const Array whole = array<int>({1, 2, 3}, test_device());
    CHECK(F::softmax_cross_entropy(x, t, {.class_weight = whole}).to_vector<double>() ==
          F::softmax_cross_entropy(x, t, {.class_weight = whole.astype(dtype)}).to_vector<double>());
  }
}

TEST_CASE("softmax_cross_entropy of images") {
  const std::vector<int> labels = {0, 2, -1, 1, 1, 0, 2, 2};
  const Array x = uniform({2, 3, 2, 2}, -2, 2), t = array(labels, test_device()).reshape({2, 2, 2});
  check_close(F::softmax_cross_entropy(x, t), {}, {total(cross_entropies(x, labels, 3, 4)) / 7});
  check_close(F::softmax_cross_entropy(x, t, {.reduce = Reduce::no}), {2, 2, 2}, cross_entropies(x, labels, 3, 4));
  check_close(F::softmax_cross_entropy(x, t, {.normalize = false}), {}, {total(cross_entropies(x, labels, 3, 4)) / 2});
}

TEST_CASE("softmax_cross_entropy when no label counts") {
  const Variable x(ones({2, 3}, Dtype::float32, test_device()));
  const Variable loss = F::softmax_cross_entropy(x, array<int>({-1, -1}, test_device()));
  CHECK(loss.item<float>() == 0);
  CHECK(gradient(loss, x) == std::vector<double>(6, 0));
  CHECK(F::softmax_cross_entropy(zeros({0, 3}, Dtype::float32, test_device()), zeros({0}, Dtype::int32, test_device()))
            .item<float>() == 0);
}

TEST_CASE("softmax_cross_entropy accumulates half types in float32") {
  const Array x = zeros({4096, 2}, Dtype::float16, test_device());
  check_close(F::softmax_cross_entropy(x, zeros({4096}, Dtype::int32, test_device())), {}, {std::log(2)});
}

TEST_CASE("softmax_cross_entropy's gradients") {
  const Array x = uniform({4, 3}, -2, 2), t = array<int>({0, 2, -1, 1}, test_device());
  const Array images = uniform({2, 3, 2}, -2, 2), labels = array<int>({0, 2, 1, -1}, {2, 2}, test_device());
  const Array weight = array<double>({0.5, 2, 0}, test_device());
  for (const CrossEntropyOptions& o :
       {CrossEntropyOptions{}, CrossEntropyOptions{.normalize = false}, CrossEntropyOptions{.cache_score = false},
        CrossEntropyOptions{.class_weight = weight}, CrossEntropyOptions{.reduce = Reduce::no},
        CrossEntropyOptions{.class_weight = weight, .reduce = Reduce::no},
        CrossEntropyOptions{.enable_double_backprop = true}}) {
    check_gradients([&](const Variable& v) { return F::softmax_cross_entropy(v, t, o); }, x);
    check_gradients([&](const Variable& v) { return F::softmax_cross_entropy(v, labels, o); }, images);
  }
  const Array others = array<int>({0, 2, 2, 1}, test_device());
  check_gradients([&](const Variable& v) { return F::softmax_cross_entropy(v, others, {.ignore_label = 2}); }, x);
}

TEST_CASE("the fused gradient of softmax_cross_entropy is the composed one") {
  const Array t = array<int>({0, 2, -1, 1}, test_device()), weight = array<double>({0.5, 2, 1}, test_device());
  for (const CrossEntropyOptions& o : {CrossEntropyOptions{}, CrossEntropyOptions{.class_weight = weight},
                                       CrossEntropyOptions{.reduce = Reduce::no}}) {
    const Variable x(uniform({4, 3}, -2, 2));
    const Variable fused = grad({F::sum(F::softmax_cross_entropy(x, t, o))}, {x})[0];
    const Variable composed =
        grad({F::sum(F::softmax_cross_entropy(x, t, o))}, {x}, {.enable_double_backprop = true})[0];
    CHECK(fused.creator() == nullptr);
    CHECK(composed.creator() != nullptr);
    check_close(fused, {4, 3}, composed.to_vector<double>());
  }
}

TEST_CASE("softmax_cross_entropy of distributions") {
  const Array x = uniform({2, 3}, -2, 2), t = array<double>({0.2, 0.3, 0.5, 0, 1, 0}, {2, 3}, test_device());
  const std::vector<double> p = x.to_vector<double>(), q = t.to_vector<double>();
  std::vector<double> cross(2), entropy(2);
  for (size_t i = 0; i < 6; ++i) {
    const double sum = std::exp(p[i / 3 * 3]) + std::exp(p[i / 3 * 3 + 1]) + std::exp(p[i / 3 * 3 + 2]);
    cross[i / 3] -= q[i] * (p[i] - std::log(sum));
    entropy[i / 3] -= q[i] * std::log(q[i] + 1e-7);  // Chainer's guard against log 0
  }
  check_close(F::softmax_cross_entropy(x, t), {}, {(cross[0] + cross[1]) / 2});
  check_close(F::softmax_cross_entropy(x, t, {.reduce = Reduce::no}), {2}, cross);
  const CrossEntropyOptions kl{.reduce = Reduce::no, .soft_target_loss = F::SoftTargetLoss::kl_divergence};
  check_close(F::softmax_cross_entropy(x, t, kl), {2}, {cross[0] - entropy[0], cross[1] - entropy[1]});
  check_gradients([&](const Variable& v) { return F::softmax_cross_entropy(v, t); }, x);
  check_gradients([&](const Variable& v) { return F::softmax_cross_entropy(v, t, kl); }, x);
}

// Numbers of PyTorch 2.15's cross_entropy; its mean with weights divides by their sum.
TEST_CASE("softmax_cross_entropy with smoothed labels") {
  const Array scores = array<double>({0.5, -1, 2, 1, 0.25, -0.5, 0, 1.5, 0.75, -2, 0, 1}, {4, 3}, test_device());
  const Array t = array<int>({2, 0, -1, 1}, test_device());
  const Array weight = array<double>({1, 2, 0.5}, test_device());
  const Array soft = array<double>({0.7, 0.2, 0.1, 0.1, 0.1, 0.8, 0, 1, 0, 0.25, 0.5, 0.25}, {4, 3}, test_device());
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    const Variable x(scores.astype(dtype));
    const Variable loss = F::softmax_cross_entropy(x, t, {.label_smoothing = 0.2});
    CHECK(loss.dtype() == dtype);
    check_close(loss, {}, {0.8783219746491068}, 4);
    loss.backward();
    check_close(
        x.grad(), {4, 3},
        {0.03620790849112334, -0.009184697798659741, -0.027023210692463585, -0.09228966766995136, 0.07064467417653543,
         0.02164499349341588, 0, 0, 0, -0.01051587990244232, -0.2023900687747492, 0.21290594867719143},
        4);
    check_close(F::softmax_cross_entropy(x, t, {.class_weight = weight, .reduce = Reduce::no, .label_smoothing = 0.2}),
                {4}, {0.6528304878828661, 0.6955749353171536, 0, 2.573189064075009}, 8);
    check_close(F::softmax_cross_entropy(x, t, {.normalize = false, .label_smoothing = 0.2}), {},
                {0.8783219746491068 * 3 / 4}, 4);
    check_close(F::softmax_cross_entropy(x, soft.astype(dtype), {.label_smoothing = 0.2}), {}, {1.4632354169506576}, 8);
    check_close(F::softmax_cross_entropy(x, soft.astype(dtype),
                                         {.class_weight = weight, .reduce = Reduce::no, .label_smoothing = 0.2}),
                {4}, {2.578312362144588, 1.1688607567918794, 1.0929555304014016, 2.1986829556909155}, 8);
  }
  check_gradients([&](const Variable& v) { return F::softmax_cross_entropy(v, t, {.label_smoothing = 0.3}); }, scores);
  CHECK_THROWS_WITH_AS(F::softmax_cross_entropy(scores, t, {.label_smoothing = 1.5}),
                       "F::softmax_cross_entropy: label_smoothing is 1.500000: it must be in [0, 1]", ValueError);
  // What is ignored may be no number.
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double odd : {-infinity, std::numeric_limits<double>::quiet_NaN()}) {
    const Variable x(array<double>({1, 2, odd, 3}, {2, 2}, test_device()));
    const Array labels = array<int>({0, -1}, test_device());
    const Variable loss = F::softmax_cross_entropy(x, labels, {.label_smoothing = 0.1});
    check_close(loss, {}, {1.3132616875182228 - 0.05});
    loss.backward();
    check_close(x.grad(), {2, 2}, {0.2689414213699951 - 0.95, 0.7310585786300049 - 0.05, 0, 0});
  }
  CHECK_THROWS_AS(F::softmax_cross_entropy(ones({3}, Dtype::float32, test_device()),
                                           ones({3}, Dtype::float32, test_device()), {.label_smoothing = 0.1}),
                  TypeError);
  // No label counts.
  const Array none = array<int>({-1, -1, -1, -1}, test_device());
  check_close(F::softmax_cross_entropy(scores, none, {.label_smoothing = 0.2}), {}, {0});
}

TEST_CASE("gradients of gradients of softmax_cross_entropy: ignored rows, and means of many") {
  const double infinity = std::numeric_limits<double>::infinity();
  const Variable x(array<double>({1, infinity, 2, 3}, {2, 2}, test_device()));
  const Variable loss = F::softmax_cross_entropy(x, array<int>({-1, 1}, test_device()));
  check_close(grad({loss}, {x}, {.enable_double_backprop = true})[0], {2, 2},
              {0, 0, 0.2689414213699951, -0.2689414213699951});
  const int64_t n = 70000;  // which float16 does not hold
  const Variable many(zeros({n, 2}, Dtype::float16, test_device()));
  const Variable mean = F::softmax_cross_entropy(many, zeros({n}, Dtype::int32, test_device()));
  const std::vector<Variable> seeds{Variable(full({}, 32768, Dtype::float16, test_device()), false)};
  const Variable g = grad({mean}, {many}, {.grad_outputs = seeds, .enable_double_backprop = true})[0];
  CHECK(g.to_vector<double>()[0] == doctest::Approx(-0.234).epsilon(0.01));
}

TEST_CASE("softmax_cross_entropy of what does not fit") {
  const Array x = ones({2, 3}, Dtype::float32, test_device());
  CHECK_THROWS_WITH_AS(F::softmax_cross_entropy(x, array<int>({0, 1, 2}, test_device())),
                       "F::softmax_cross_entropy: t has shape (3,) but x has shape (2, 3): t.shape[0] must equal "
                       "x.shape[0] (3 != 2)",
                       TypeError);
  CHECK_THROWS_AS(F::softmax_cross_entropy(x, array<int>({0, 1}, {2, 1}, test_device())), TypeError);
  CHECK_THROWS_AS(F::softmax_cross_entropy(x, ones({2}, Dtype::float32, test_device())), TypeError);
  CHECK_THROWS_AS(F::softmax_cross_entropy(int_ones({2, 3}), array<int>({0, 1}, test_device())), TypeError);
  CHECK_THROWS_AS(F::softmax_cross_entropy(ones({2, 3, 4}, Dtype::float32, test_device()),
                                           array<int>({0, 1, 2}, {1, 3}, test_device())),
                  TypeError);
  CHECK_THROWS_AS(F::softmax_cross_entropy(x, ones({2, 3}, Dtype::float64, test_device())), TypeError);
  CHECK_THROWS_WITH_AS(F::softmax_cross_entropy(x, array<int>({0, 1}, test_device()),
                                                {.class_weight = ones({2}, Dtype::float32, test_device())}),
                       "F::softmax_cross_entropy: x has shape (2, 3) but class_weight has shape (2,): "
                       "class_weight.shape must be (x.shape[1],)",
                       ValueError);
  CHECK_THROWS_WITH_AS(F::softmax_cross_entropy(x, array<int>({0, 1}, test_device()), {.reduce = Reduce::sum}),
                       "F::softmax_cross_entropy: reduce must be mean or no", ValueError);
}

TEST_CASE("softmax_cross_entropy of a label out of range") {
  const Array x = ones({2, 3}, Dtype::float32, test_device()), t = array<int>({0, 3}, test_device());
  CHECK(std::isnan(F::softmax_cross_entropy(x, t).item<float>()));
  const auto guard = using_config(&Config::debug, true);
  CHECK_THROWS_WITH_AS(F::softmax_cross_entropy(x, t),
                       "F::softmax_cross_entropy: label 3 must be in [0, 3) or equal ignore_label -1", ValueError);
}

}  // namespace
}  // namespace kusari
