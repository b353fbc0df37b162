#include "kusari/framework/functions/loss/sigmoid_cross_entropy.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;
using F::Reduce;

TEST_CASE("sigmoid_cross_entropy") {
  const std::vector<int> labels = {0, 1, -1, 1, 0, 0};
  const Array t = array(labels, test_device()).reshape({2, 3});
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    const Array x = uniform({2, 3}, -2, 2).astype(dtype);
    const std::vector<double> scores = x.to_vector<double>();
    std::vector<double> each;
    double total = 0;
    for (size_t i = 0; i < 6; ++i) {
      const double p = 1 / (1 + std::exp(-scores[i]));
      each.push_back(labels[i] == -1 ? 0 : -std::log(labels[i] == 1 ? p : 1 - p));
      total += each.back();
    }
    CHECK(F::sigmoid_cross_entropy(x, t).dtype() == dtype);
    check_close(F::sigmoid_cross_entropy(x, t), {}, {total / 5});
    check_close(F::sigmoid_cross_entropy(x, t, {.normalize = false}), {}, {total / 2});
    check_close(F::sigmoid_cross_entropy(x, t, {.reduce = Reduce::no}), {2, 3}, each);
  }
}

TEST_CASE("sigmoid_cross_entropy of large scores and without labels that count") {
  check_close(F::sigmoid_cross_entropy(array<float>({1000, -1000}, test_device()), array<int>({0, 0}, test_device())),
              {}, {500});
  CHECK(F::sigmoid_cross_entropy(ones({2}, Dtype::float32, test_device()), array<int>({-1, -1}, test_device()))
            .item<float>() == 0);
}

TEST_CASE("sigmoid_cross_entropy's gradients") {
  const Array x = uniform({2, 3}, -2, 2), t = array<int>({0, 1, -1, 1, 0, 0}, {2, 3}, test_device());
  for (const auto& o : {F::SigmoidCrossEntropyOptions{}, {.normalize = false}, {.reduce = Reduce::no}}) {
    check_gradients([&](const Variable& v) { return F::sigmoid_cross_entropy(v, t, o); }, x);
  }
}

TEST_CASE("sigmoid_cross_entropy of what does not fit") {
  CHECK_THROWS_WITH_AS(
      F::sigmoid_cross_entropy(ones({2, 3}, Dtype::float32, test_device()), array<int>({0, 1}, test_device())),
      "F::sigmoid_cross_entropy: x has shape (2, 3) but t has shape (2,): x.shape must equal t.shape", TypeError);
  CHECK_THROWS_AS(
      F::sigmoid_cross_entropy(ones({2}, Dtype::float32, test_device()), ones({2}, Dtype::float32, test_device())),
      TypeError);
  CHECK_THROWS_WITH_AS(F::sigmoid_cross_entropy(ones({1}, Dtype::float32, test_device()),
                                                array<int>({0}, test_device()), {.reduce = Reduce::sum}),
                       "F::sigmoid_cross_entropy: reduce must be mean or no", ValueError);
}

}  // namespace
}  // namespace kusari
