// F::forget inside recorded calls.
#include "kusari/framework/functions/util/forget.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/noise/dropout.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/framework/static_graph/static_graph.h"

namespace kusari {
namespace F = functions;
namespace L = links;
namespace {

using doctest::Contains;

Array rows(double step) {
  std::vector<float> numbers;
  for (int i = 0; i < 12; ++i) numbers.push_back(static_cast<float>(step * ((i * 5) % 7 - 3)));
  return array(numbers, {4, 3});
}

TEST_CASE("a static graph draws nothing for an array without elements") {
  auto graph = static_graph([](const Variable& x) { return F::dropout(x, 0.5) * 2; });
  for (int i = 0; i < 3; ++i) CHECK(graph(Variable(zeros({0, 5}))).shape() == Shape{0, 5});
  CHECK(graph(Variable(ones({4, 5}))).shape() == Shape{4, 5});
}

TEST_CASE("a static graph replays what was forgotten") {
  const Array W = rows(0.3).slice(0, 0, 3).copy();
  L::Linear linear(3, 3, {.initial_w = W}), again(3, 3, {.initial_w = W});
  L::BatchNormalization bn(3), bn_again(3);
  const auto model = [](L::Linear& l, L::BatchNormalization& b) {
    return [&](const Variable& x) {
      const auto block = [&](const Variable& h) { return F::tanh(b(l(h))); };
      return F::forget(block, F::forget(block, x) * x);
    };
  };
  const auto plain = model(again, bn_again);
  auto graph = static_graph(model(linear, bn));
  for (int i = 0; i < 4; ++i) {
    Variable x(rows(0.1 * (i + 1))), z(rows(0.1 * (i + 1)));
    for (L::Linear* link : {&linear, &again}) link->cleargrads();
    const Variable y = graph(x), w = plain(z);
    CHECK(y.to_vector<float>() == w.to_vector<float>());
    F::sum(y).backward();
    F::sum(w).backward();
    CHECK(x.grad().to_vector<float>() == z.grad().to_vector<float>());
    CHECK(linear.W.grad().to_vector<float>() == again.W.grad().to_vector<float>());
    CHECK(bn.avg_var.to_vector<float>() == bn_again.avg_var.to_vector<float>());
  }
  CHECK(graph.summary().find("define-by-run") == std::string::npos);
}

TEST_CASE("a static graph does not draw the random numbers of forward in backward") {
  random::seed(1);
  const auto model = [](const Variable& x) {
    return F::forget([](const Variable& h) { return F::dropout(h, 0.5); }, x);
  };
  auto strict = static_graph(model, {.name = "Strict"});
  const auto run = [](auto& graph) {
    Variable x(rows(1));
    const Variable y = graph(x);
    F::sum(y * x.array()).backward();
    const std::vector<float> expected = (y * x.array()).template to_vector<float>();
    const std::vector<float> gx = x.grad().to_vector<float>(), values = x.to_vector<float>();
    for (size_t i = 0; i < gx.size(); ++i) CHECK(gx[i] * values[i] == expected[i]);
  };
  CHECK_THROWS_WITH_AS(run(strict), Contains("draws random numbers that were taken off the stream before the call"),
                       StateError);
  auto lenient = static_graph(model, {.name = "Lenient", .fallback = true});
  for (int i = 0; i < 3; ++i) run(lenient);
}

}  // namespace
}  // namespace kusari
