#include "kusari/framework/links/connection/se_block.h"

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/autograd/gradient_check.h"
#include "kusari/framework/core/error.h"
#include "kusari/tests/links/detection/drawn_weights.h"

namespace kusari::testing {
namespace {

/// The formula in loops: x of 2 images with 4 channels of 2 x 3.
std::vector<double> squeezed_and_excited(const std::vector<double>& x, L::SEBlock& block, bool swish) {
  const auto numbers = [](const Parameter& p) { return p.array().to_vector<double>(); };
  const std::vector<double> down = numbers(block.down.W), up = numbers(block.up.W), a = numbers(block.down.b),
                            b = numbers(block.up.b);
  std::vector<double> y(x);
  for (size_t n = 0; n < 2; ++n) {
    std::vector<double> mean(4), between(2);
    for (size_t i = 0; i < 24; ++i) mean[i / 6] += x[24 * n + i] / 6;
    for (size_t k = 0; k < 2; ++k) {
      double sum = a[k];
      for (size_t c = 0; c < 4; ++c) sum += down[4 * k + c] * mean[c];
      between[k] = swish ? sum / (1 + std::exp(-sum)) : std::max(sum, 0.0);
    }
    for (size_t i = 0; i < 24; ++i) {
      double sum = b[i / 6];
      for (size_t k = 0; k < 2; ++k) sum += up[2 * (i / 6) + k] * between[k];
      y[24 * n + i] /= 1 + std::exp(-sum);
    }
  }
  return y;
}

TEST_CASE("SEBlock: the formula and its gradient") {
  for (const bool swish : {false, true}) {
    L::SEBlock block(4, {.ratio = 2, .activation = swish ? L::SEActivation::swish : L::SEActivation::relu});
    draw_weights(block);
    block.to(Dtype::float64);
    const Array x = drawn_array("x", {2, 4, 2, 3}, -1, 1).astype(Dtype::float64);
    const std::vector<double> expected = squeezed_and_excited(x.to_vector<double>(), block, swish);
    const std::vector<double> found = block(x).array().to_vector<double>();
    for (size_t i = 0; i < expected.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-10));
    CHECK_NOTHROW(gradient_check::check_backward([&](const Variable& v) { return block(v); }, {x}, {},
                                                 {.atol = 1e-5, .rtol = 1e-4}));
  }
}

TEST_CASE("SEBlock keeps x's dtype, and refuses to leave no channel") {
  L::SEBlock block(4, {.squeezed = 3});
  CHECK(block.down.W.shape() == Shape{3, 4});
  block.to(Dtype::bfloat16);
  CHECK(block(zeros({1, 4, 2, 2}, Dtype::bfloat16)).dtype() == Dtype::bfloat16);
  CHECK_THROWS_WITH_AS(L::SEBlock(4), "L::SEBlock: ratio is 16: it must be in [1, channels]", ValueError);
  CHECK_THROWS_AS(L::SEBlock(0), ValueError);
  CHECK_THROWS_AS(L::SEBlock(4, {.squeezed = -1}), ValueError);
}

}  // namespace
}  // namespace kusari::testing
