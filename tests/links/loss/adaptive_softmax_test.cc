#include "kusari/framework/links/loss/adaptive_softmax.h"

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/select_item.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/sum.h"

namespace kusari::adaptive_softmax_test {
namespace {

Variable drawn(const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(numel(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(std::sin(1.7 * static_cast<double>(i) + 1));
  return Variable(array(values, shape));
}

}  // namespace

TEST_CASE("the mean of many losses in 16 bits") {
  L::AdaptiveSoftmax loss(4, 600, {300});
  loss.to(Dtype::float16);
  const Variable x(zeros({20000, 4}, Dtype::float16)), t(zeros({20000}, Dtype::int32), false);
  const Variable y = loss(x, t);
  CHECK(y.dtype() == Dtype::float16);
  CHECK(y.item<float>() == doctest::Approx(std::log(301)).epsilon(0.01));
}

TEST_CASE("probabilities add up to 1, and the loss is their logarithm") {
  for (const bool head_bias : {false, true}) {
    L::AdaptiveSoftmax loss(8, 30, {5, 12}, {.div_value = 2, .head_bias = head_bias});
    CHECK(loss.head.W.shape() == Shape{7, 8});
    CHECK(loss.down[1].W.shape() == Shape{2, 8});
    CHECK(loss.out[1].W.shape() == Shape{18, 2});
    const Variable x = drawn({6, 8});
    const Variable log_prob = loss.log_prob(x);
    CHECK(log_prob.shape() == Shape{6, 30});
    for (const float sum : functions::sum(functions::exp(log_prob), 1).to_vector<float>())
      CHECK(sum == doctest::Approx(1));
    const Variable t(array(std::vector<int32_t>{0, 4, 5, 11, 12, 29}), false);
    const Variable expected = -functions::sum(functions::select_item(log_prob, t)) / 6;
    const Variable got = loss(x, t);
    CHECK(got.item<float>() == doctest::Approx(expected.item<float>()));
    // Gradients too, of x and of all parameters.
    const auto gradients = [&](const Variable& of) {
      loss.cleargrads();
      Variable(x).cleargrad();
      of.backward();
      std::vector<float> all = x.grad().to_vector<float>();
      for (Parameter* p : loss.params()) {
        for (const float g : p->grad().to_vector<float>()) all.push_back(g);
      }
      return all;
    };
    const auto a = gradients(got), b = gradients(expected);
    REQUIRE(a.size() == b.size());
    for (size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-4));
  }
}

TEST_CASE("labels that do not count, and rare words that do not come") {
  const L::AdaptiveSoftmax loss(4, 20, {6}, {.ignore_label = -7});
  const Variable x = drawn({3, 4});
  const auto mean_of = [&](std::vector<int32_t> t) { return loss(x, Variable(array(t), false)).item<float>(); };
  CHECK(mean_of({-7, -7, -7}) == 0);
  const float one = -loss.log_prob(x).array().at(1).at(3).item<float>();
  CHECK(mean_of({-7, 3, -7}) == doctest::Approx(one));
}

TEST_CASE("adaptive softmax of what does not fit") {
  CHECK_THROWS_WITH_AS(L::AdaptiveSoftmax(4, 20, {}), doctest::Contains("cutoffs is empty"), ValueError);
  CHECK_THROWS_WITH_AS(L::AdaptiveSoftmax(4, 20, {6, 6}),
                       "L::AdaptiveSoftmax: cutoffs[1] is 6: it must be above 6 and below words, 20", ValueError);
  CHECK_THROWS_AS(L::AdaptiveSoftmax(4, 20, {20}), ValueError);
  CHECK_THROWS_AS(L::AdaptiveSoftmax(0, 20, {3}), ValueError);
  CHECK_THROWS_AS(L::AdaptiveSoftmax(4, 20, {3}, {.div_value = 0.5}), ValueError);
  const L::AdaptiveSoftmax loss(4, 20, {6});
  const auto labels = [](std::vector<int32_t> t) { return Variable(array(t), false); };
  CHECK_THROWS_WITH_AS(loss(drawn({2, 4}), labels({1, 20})), doctest::Contains("t[1] is 20"), IndexError);
  CHECK_THROWS_AS(loss(drawn({2, 4}), labels({1, -2})), IndexError);
  CHECK_THROWS_AS(loss(drawn({2, 4}), labels({1})), TypeError);
  CHECK_THROWS_AS(loss(drawn({2, 4}), drawn({2})), TypeError);
  CHECK_THROWS_AS(loss(Variable(), labels({1})), TypeError);
}

}  // namespace kusari::adaptive_softmax_test
