#include "kusari/framework/links/connection/separable_convolution_2d.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/connection/convolution_2d.h"
#include "kusari/tests/links/detection/drawn_weights.h"

namespace kusari::testing {
namespace {

TEST_CASE("SeparableConvolution2D is a convolution whose filters are products") {
  L::SeparableConvolution2D conv(3, 5, 3, {.stride = 2, .pad = 1});
  draw_weights(conv);
  CHECK(conv.count_params() == 3 * 9 + 3 * 5 + 5);
  const std::vector<float> d = conv.depthwise.W.array().to_vector<float>(),
                           p = conv.pointwise.W.array().to_vector<float>();
  std::vector<float> w;
  for (size_t o = 0; o < 5; ++o) {
    for (size_t i = 0; i < 27; ++i) w.push_back(p[3 * o + i / 9] * d[i]);
  }
  const Array x = drawn_array("x", {2, 3, 7, 6}, -1, 1);
  const Variable expected =
      functions::convolution_2d(x, array(w, {5, 3, 3, 3}), conv.pointwise.b, {.stride = 2, .pad = 1});
  const Variable found = conv(x);
  REQUIRE(found.shape() == expected.shape());
  const std::vector<double> a = found.array().to_vector<double>(), b = expected.array().to_vector<double>();
  for (size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-5).scale(1));
}

TEST_CASE("SeparableConvolution2D without a bias, and what does not fit") {
  CHECK(L::SeparableConvolution2D(3, 5, 3, {.nobias = true}).count_params() == 27 + 15);
  const L::SeparableConvolution2D conv(3, 5, 3);
  CHECK_THROWS_AS(conv(zeros({1, 4, 5, 5})), TypeError);
  CHECK_THROWS_AS(L::SeparableConvolution2D(0, 5, 3), ValueError);
}

}  // namespace
}  // namespace kusari::testing
