#include "kusari/framework/functions/loss/connectionist_temporal_classification.h"

#include <cmath>
#include <limits>
#include <vector>

#include "kusari/framework/functions/math/sum.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;
using F::Reduce;
using CtcOptions = F::ConnectionistTemporalClassificationOptions;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Frames of one sequence whose softmax is these probabilities of a blank, a and b.
std::vector<Variable> frames_of(const std::vector<std::vector<double>>& probabilities, Dtype dtype) {
  std::vector<Variable> frames;
  for (const std::vector<double>& p : probabilities) {
    std::vector<double> scores;
    for (const double v : p) scores.push_back(std::log(v) + 0.25);
    frames.emplace_back(array(scores, {1, 3}, test_device()).astype(dtype));
  }
  return frames;
}

TEST_CASE("connectionist_temporal_classification") {
  const std::vector<std::vector<double>> p = {{0.5, 0.3, 0.2}, {0.1, 0.6, 0.3}, {0.25, 0.25, 0.5}};
  struct Case {
    int64_t frames;
    std::vector<int> labels;
    double probability;  // of all ways to write them, - being a blank
  };
  for (const Case& c : {Case{1, {1}, 0.3},
                        {1, {}, 0.5},
                        {2, {}, 0.5 * 0.1},
                        {2, {1}, 0.3 * 0.6 + 0.3 * 0.1 + 0.5 * 0.6},  // aa a- -a
                        {2, {1, 2}, 0.3 * 0.3},
                        {3, {1, 1}, 0.3 * 0.1 * 0.25},  // a-a
                        {3,
                         {1, 2},
                         0.3 * 0.6 * 0.5 + 0.3 * 0.3 * 0.5 + 0.3 * 0.1 * 0.5 + 0.3 * 0.3 * 0.25 +
                             0.5 * 0.6 * 0.5},  // aab abb a-b ab- -ab
                        {2, {1, 1}, 0},
                        {1, {1, 2}, 0}}) {
    CAPTURE(c.frames);
    for (const Dtype dtype : kFloatingDtypes) {
      CAPTURE(name(dtype));
      const std::vector<Variable> all = frames_of(p, dtype), x(all.begin(), all.begin() + c.frames);
      const Array t = array(c.labels, {1, static_cast<int64_t>(c.labels.size())}, test_device());
      const Variable loss = F::connectionist_temporal_classification(x, t, 0, {.reduce = Reduce::no});
      CHECK(loss.dtype() == dtype);
      check_close(loss, {1}, {-std::log(c.probability)}, 2);
    }
  }
}

TEST_CASE("connectionist_temporal_classification of sequences of several lengths") {
  const Array scores = uniform({4, 2, 3}, -2, 2);
  const auto frame = [&](int64_t t, int64_t b) { return Variable(scores.at(t).slice(0, b, 1)); };
  const std::vector<Variable> x = {scores.at(0), scores.at(1), scores.at(2), scores.at(3)};
  // The blank is 2; what lies behind a length does not matter.
  const Array t = array<int>({0, 1, 1, -7}, {2, 2}, test_device());
  const double first = F::connectionist_temporal_classification({frame(0, 0), frame(1, 0), frame(2, 0), frame(3, 0)},
                                                                array<int>({0, 1}, {1, 2}, test_device()), 2)
                           .item<double>();
  const double second = F::connectionist_temporal_classification({frame(0, 1), frame(1, 1), frame(2, 1)},
                                                                 array<int>({1}, {1, 1}, test_device()), 2)
                            .item<double>();
  CtcOptions options{.input_length = array<int>({4, 3}, test_device()),
                     .label_length = array<int>({2, 1}, test_device())};
  check_close(F::connectionist_temporal_classification(x, t, 2, options), {}, {(first + second) / 2});
  options.reduce = Reduce::no;
  check_close(F::connectionist_temporal_classification(x, t.astype(Dtype::int64), 2, options), {2}, {first, second});
}

TEST_CASE("connectionist_temporal_classification's gradients") {
  const Array t = array<int>({0, 1, 1, 1}, {2, 2}, test_device());
  CtcOptions options{.input_length = array<int>({3, 4}, test_device()),
                     .label_length = array<int>({1, 2}, test_device())};
  for (const Reduce reduce : {Reduce::mean, Reduce::no}) {
    options.reduce = reduce;
    const auto loss = [&](const Variables& x) {
      return Variables(F::connectionist_temporal_classification({x.data(), x.size()}, t, 2, options));
    };
    const Arrays x(uniform({2, 3}, -1, 1, 1), uniform({2, 3}, -1, 1, 2), uniform({2, 3}, -1, 1, 3),
                   uniform({2, 3}, -1, 1, 4));
    CHECK_NOTHROW(gradient_check::check_backward(loss, x, {}, {.atol = 1e-5, .rtol = 1e-4}));
    CHECK_NOTHROW(gradient_check::check_double_backward(loss, x, {}, {}, {.atol = 1e-4, .rtol = 1e-3}));
  }
}

TEST_CASE("the gradient of connectionist_temporal_classification is the composed one") {
  const Array t = array<int>({0, 1, 1, 0, 2, 0}, {3, 2}, test_device());
  const CtcOptions options{.input_length = array<int>({2, 1, 2}, test_device()),
                           .label_length = array<int>({1, 2, 0}, test_device()),
                           .reduce = Reduce::no};  // the second does not fit
  for (const Dtype dtype : {Dtype::float16, Dtype::float32, Dtype::float64}) {
    const Variable x0(uniform({3, 4}, -1, 1, 1).astype(dtype)), x1(uniform({3, 4}, -1, 1, 2).astype(dtype));
    const auto loss = [&] { return F::sum(F::connectionist_temporal_classification({x0, x1}, t, 3, options)); };
    CHECK(loss().item<double>() == kInfinity);
    const Variables fused = grad({loss()}, {x0, x1});
    const Variables composed = grad({loss()}, {x0, x1}, {.enable_double_backprop = true});
    for (size_t i = 0; i < 2; ++i) {
      CHECK(fused[i].dtype() == dtype);
      CHECK(fused[i].creator() == nullptr);
      CHECK(composed[i].creator() != nullptr);
      const std::vector<double> expected = composed[i].to_vector<double>();
      check_close(fused[i], {3, 4}, expected, 4);
      for (size_t v = 4; v < 8; ++v) CHECK(expected[v] == 0);
    }
  }
}

TEST_CASE("connectionist_temporal_classification of long sequences") {
  // 2000 equal frames of two symbols and no label: the blank every time.
  const std::vector<Variable> x(2000, Variable(zeros({1, 2}, Dtype::float32, test_device())));
  const Array none = zeros({1, 0}, Dtype::int32, test_device());
  check_close(F::connectionist_temporal_classification(x, none, 0), {}, {2000 * std::log(2)}, 2000);
  // One label: any run of it, of n (n + 1) / 2 places.
  const Array one = ones({1, 1}, Dtype::int32, test_device());
  check_close(F::connectionist_temporal_classification(x, one, 0), {}, {2000 * std::log(2) - std::log(2001000)}, 2000);
}

TEST_CASE("connectionist_temporal_classification keeps NaN to its sequence") {
  const Array scores = uniform({2, 3}, -1, 1);
  scores.at(0).slice(0, 1, 1).fill(std::numeric_limits<double>::quiet_NaN());
  const Variable x(scores), y(uniform({2, 3}, -1, 1));
  const auto loss = [&] {
    return F::connectionist_temporal_classification({x, y}, ones({2, 1}, Dtype::int32, test_device()), 0,
                                                    {.reduce = Reduce::no});
  };
  const std::vector<double> losses = loss().to_vector<double>();
  CHECK(std::isnan(losses[0]));
  CHECK(std::isfinite(losses[1]));
  for (const bool is_composed : {false, true}) {
    const std::vector<double> g =
        grad({F::sum(loss())}, {y}, {.enable_double_backprop = is_composed})[0].to_vector<double>();
    for (size_t v = 0; v < 2; ++v) CHECK(std::isnan(g[v]));  // the blank and the label
    for (size_t v = 3; v < 6; ++v) CHECK(std::isfinite(g[v]));
  }
}

TEST_CASE("connectionist_temporal_classification of no sequence") {
  const Variable x(zeros({0, 3}, Dtype::float32, test_device()));
  const Variable loss = F::connectionist_temporal_classification({x, x}, zeros({0, 2}, Dtype::int32, test_device()), 0,
                                                                 {.reduce = Reduce::no});
  CHECK(loss.shape() == Shape{0});
  CHECK(grad({loss}, {x})[0].shape() == Shape{0, 3});
  // No frame of a sequence counts: only no label fits.
  const Variable y(zeros({2, 3}, Dtype::float32, test_device()));
  const Variable empty =
      F::connectionist_temporal_classification({y}, ones({2, 1}, Dtype::int32, test_device()), 0,
                                               {.input_length = zeros({2}, Dtype::int32, test_device()),
                                                .label_length = array<int>({0, 1}, test_device()),
                                                .reduce = Reduce::no});
  CHECK(empty.to_vector<double>() == std::vector<double>{0, kInfinity});
  CHECK(gradient(empty, y) == std::vector<double>(6, 0));
}

TEST_CASE("connectionist_temporal_classification of what does not fit") {
  const Array x = ones({2, 3}, Dtype::float32, test_device()), t = ones({2, 1}, Dtype::int32, test_device());
  const auto ctc = [&](const Array& labels, int64_t blank, const CtcOptions& options = {}) {
    return F::connectionist_temporal_classification({x, x}, labels, blank, options);
  };
  const std::vector<Variable> nothing;
  CHECK_THROWS_WITH_AS(F::connectionist_temporal_classification(nothing, t, 0),
                       "F::connectionist_temporal_classification: x is empty: it must have an array per frame",
                       ValueError);
  CHECK_THROWS_WITH_AS(F::connectionist_temporal_classification({x, x.slice(0, 0, 1)}, t, 0),
                       "F::connectionist_temporal_classification: x[1] has shape (1, 3) and dtype float32 but x[0] has "
                       "shape (2, 3) and dtype float32: all frames must be alike",
                       TypeError);
  CHECK_THROWS_WITH_AS(ctc(t, 3), "F::connectionist_temporal_classification: blank_symbol is 3: it must be in [0, 3)",
                       ValueError);
  CHECK_THROWS_WITH_AS(ctc(t, 0, {.reduce = Reduce::sum}),
                       "F::connectionist_temporal_classification: reduce must be mean or no", ValueError);
  CHECK_THROWS_WITH_AS(ctc(ones({3, 1}, Dtype::int32, test_device()), 0),
                       "F::connectionist_temporal_classification: t has shape (3, 1) but x has shape (2, 2, 3): "
                       "t.shape[0] must equal x.shape[1] (3 != 2)",
                       TypeError);
  CHECK_THROWS_AS(ctc(ones({2, 1}, Dtype::float32, test_device()), 0), TypeError);
  CHECK_THROWS_AS(ctc(t, 0, {.input_length = ones({3}, Dtype::int32, test_device())}), TypeError);
  CHECK_THROWS_AS(F::connectionist_temporal_classification({int_ones({2, 3})}, t, 0), TypeError);
  CHECK_THROWS_AS(F::connectionist_temporal_classification({x}, Variable(), 0), TypeError);
  const Array label = array<int>({1, 3}, {2, 1}, test_device());
  const Array frames = array<int>({2, 3}, test_device()), labels = array<int>({-1, 1}, test_device());
  if (!test_device().is_cpu()) {  // which cannot throw
    const auto is_nan = [&](const Array& given, const CtcOptions& options, size_t b) {
      const std::vector<double> loss = ctc(given, 0, options).to_vector<double>();
      return std::isnan(loss[b]) && !std::isnan(loss[1 - b]);
    };
    CHECK(is_nan(label, {.reduce = Reduce::no}, 1));
    CHECK(is_nan(t, {.input_length = frames, .reduce = Reduce::no}, 1));
    CHECK(is_nan(t, {.label_length = labels, .reduce = Reduce::no}, 0));
    return;
  }
  CHECK_THROWS_WITH_AS(ctc(label, 0), "F::connectionist_temporal_classification: label 3 in t must be in [0, 3)",
                       IndexError);
  CHECK_THROWS_WITH_AS(ctc(t, 0, {.input_length = frames}),
                       "F::connectionist_temporal_classification: input_length[1] is 3: it must be in [0, 2]",
                       ValueError);
  CHECK_THROWS_WITH_AS(ctc(t, 0, {.label_length = labels}),
                       "F::connectionist_temporal_classification: label_length[0] is -1: it must be in [0, 1]",
                       ValueError);
}

}  // namespace
}  // namespace kusari
