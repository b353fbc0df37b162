#include "kusari/framework/functions/loss/crf1d.h"

#include <cmath>
#include <vector>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;
using F::Reduce;

TEST_CASE("crf1d") {
  const std::vector<double> c = {0.5, -1, 0.25, 2};
  const std::vector<double> first = {1, -0.5}, second = {0.25, 1};
  // Label sequences 00, 01, 10, 11 of the first sequence; the second one has one position.
  const auto score = [&](size_t s, size_t t) { return first[s] + c[2 * s + t] + second[t]; };
  double z = 0;
  for (const size_t s : {0, 1}) {
    for (const size_t t : {0, 1}) z += std::exp(score(s, t));
  }
  const std::vector<double> losses = {std::log(z) - score(0, 1), std::log(std::exp(2.0) + std::exp(3.0)) - 2.0};
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    const Array cost = array(c, {2, 2}, test_device()).astype(dtype);
    const Array x0 = array<double>({1, -0.5, 3, 2}, {2, 2}, test_device()).astype(dtype);
    const Array x1 = array(second, {1, 2}, test_device()).astype(dtype);
    const Array y0 = array<int>({0, 1}, test_device()), y1 = array<int>({1}, test_device());
    CHECK(F::crf1d(cost, {x0, x1}, {y0, y1}).dtype() == dtype);
    check_close(F::crf1d(cost, {x0, x1}, {y0, y1}), {}, {(losses[0] + losses[1]) / 2});
    check_close(F::crf1d(cost, {x0, x1}, {y0, y1}, Reduce::no), {2}, losses);

    const F::CrfPath best = F::argmax_crf1d(cost, {x0, x1});
    CHECK(best.score.dtype() == dtype);
    check_close(best.score, {2}, {score(1, 1), 3});  // 2.5 beats 1.75, 1 and 0
    REQUIRE(best.path.size() == 2);
    CHECK(best.path[0].to_vector<int>() == std::vector<int>{1, 0});
    CHECK(best.path[1].to_vector<int>() == std::vector<int>{1});
  }
}

TEST_CASE("crf1d keeps the order of sequences that end one after the other") {
  const Array cost = uniform({3, 3}, -1, 1, 7);
  const std::vector<Variable> xs = {uniform({4, 3}, -1, 1, 1), uniform({3, 3}, -1, 1, 2), uniform({3, 3}, -1, 1, 3),
                                    uniform({1, 3}, -1, 1, 4)};
  const std::vector<Variable> ys = {array<int>({0, 2, 1, 1}, test_device()), array<int>({2, 2, 0}, test_device()),
                                    array<int>({1, 0, 0}, test_device()), array<int>({2}, test_device())};
  const Variable together = F::crf1d(cost, xs, ys, Reduce::no);
  const F::CrfPath best = F::argmax_crf1d(cost, xs);
  std::vector<double> losses, scores;
  for (int64_t i = 0; i < 4; ++i) {
    std::vector<Variable> x, y;
    for (size_t t = 0; t < xs.size() && xs[t].shape()[0] > i; ++t) {
      x.emplace_back(xs[t].array().slice(0, i, 1));
      y.push_back(ys[t].array().slice(0, i, 1));
    }
    losses.push_back(F::crf1d(cost, x, y).item<double>());
    const F::CrfPath alone = F::argmax_crf1d(cost, x);
    scores.push_back(alone.score.item<double>());
    for (size_t t = 0; t < x.size(); ++t) CHECK(alone.path[t].item<int>() == best.path[t].at(i).item<int>());
  }
  check_close(together, {4}, losses);
  check_close(best.score, {4}, scores);
}

TEST_CASE("crf1d's gradients") {
  const Array y0 = array<int>({0, 2, 1}, test_device()), y1 = array<int>({1, 1}, test_device()),
              y2 = array<int>({0}, test_device());
  const Arrays x(uniform({3, 3}, -1, 1, 1), uniform({3, 3}, -1, 1, 2), uniform({2, 3}, -1, 1, 3),
                 uniform({1, 3}, -1, 1, 4));
  for (const Reduce reduce : {Reduce::mean, Reduce::no}) {
    const auto loss = [&](const Variables& v) {
      return Variables(F::crf1d(v[0], {v[1], v[2], v[3]}, {y0, y1, y2}, reduce));
    };
    CHECK_NOTHROW(gradient_check::check_backward(loss, x, {}, {.atol = 1e-5, .rtol = 1e-4}));
    CHECK_NOTHROW(gradient_check::check_double_backward(loss, x, {}, {}, {.atol = 1e-4, .rtol = 1e-3}));
  }
  const auto score = [](const Variables& v) { return Variables(F::argmax_crf1d(v[0], {v[1], v[2], v[3]}).score); };
  CHECK_NOTHROW(gradient_check::check_backward(score, x, {}, {.atol = 1e-5, .rtol = 1e-4}));
}

TEST_CASE("crf1d of what does not fit") {
  const auto float32 = [](const Shape& shape) { return Variable(ones(shape, Dtype::float32, test_device())); };
  const Variable cost = float32({2, 2}), x = float32({3, 2});
  const Variable y(zeros({3}, Dtype::int32, test_device()));
  const std::vector<Variable> none;
  CHECK_THROWS_WITH_AS(F::crf1d(float32({2, 3}), {x}, {y}),
                       "F::crf1d: cost has shape (2, 3) and dtype float32: it must be a floating matrix (K, K)",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::crf1d(cost, none, none), "F::crf1d: xs is empty: it must have an array per position",
                       ValueError);
  CHECK_THROWS_WITH_AS(
      F::crf1d(cost, {float32({3, 4})}, {y}),
      "F::crf1d: xs[0] has shape (3, 4) and dtype float32 but cost has shape (2, 2) and dtype float32: "
      "xs must be (batch, K) of cost's dtype",
      TypeError);
  CHECK_THROWS_WITH_AS(F::argmax_crf1d(cost, {float32({2, 2}), x}),
                       "F::argmax_crf1d: xs[1] has 3 rows but xs[0] has 2: batches must not grow", TypeError);
  CHECK_THROWS_WITH_AS(F::crf1d(cost, {x, x}, {y}), "F::crf1d: xs has 2 arrays but ys has 1: they must be as many",
                       ValueError);
  CHECK_THROWS_WITH_AS(F::crf1d(cost, {x}, {float32({3})}),
                       "F::crf1d: ys[0] has shape (3,) and dtype float32 but xs[0] has shape (3, 2): ys must be "
                       "integers, one per row of xs",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::crf1d(cost, {x}, {y}, Reduce::sum), "F::crf1d: reduce must be mean or no", ValueError);
  CHECK_THROWS_AS(F::crf1d(Variable(), {x}, {y}), TypeError);
  if (test_device().is_cpu()) {
    CHECK_THROWS_AS(F::crf1d(cost, {x}, {array<int>({0, 1, 2}, test_device())}), IndexError);
  }
}

}  // namespace
}  // namespace kusari
