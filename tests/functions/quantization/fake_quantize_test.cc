#include "kusari/framework/functions/quantization/fake_quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

Array number(double value, Dtype dtype = Dtype::float32) { return full({}, value, dtype, test_device()); }

double formula(double x, double scale, double zero, double low, double high) {
  return (std::clamp(std::nearbyint(x / scale) + zero, low, high) - zero) * scale;
}

// A scale of 1/16 and numbers of few bits make every quotient exact in all dtypes.
TEST_CASE("fake_quantize") {
  const Array x =
      array<double>({-20, -8, -7.96875, -1, -0.09375, -0.03125, 0, 0.03125, 0.09375, 0.15625, 7.9375, 8, 20});
  for (const bool narrow : {false, true}) {
    CAPTURE(narrow);
    check_forward([&](const Variable& v) { return F::fake_quantize(v, number(0.0625), {.narrow_range = narrow}); },
                  [&](double v) { return formula(v, 0.0625, 0, narrow ? -127 : -128, 127); }, x);
    check_forward(
        [&](const Variable& v) {
          return F::fake_quantize(
              v, number(0.0625),
              {.zero_point = number(100, Dtype::int32), .dtype = Dtype::uint8, .narrow_range = narrow});
        },
        [&](double v) { return formula(v, 0.0625, 100, narrow ? 1 : 0, 255); }, x);
  }
  CHECK(std::isnan(F::fake_quantize(Variable(number(std::nan(""))), number(1)).item<double>()));
}

TEST_CASE("fake_quantize rounds halves to the even integer") {
  const Variable x(on_test_device(array<float>({-2.5f, -1.5f, -0.5f, 0.5f, 1.5f, 2.5f})));
  check_close(F::fake_quantize(x, number(1)), {6}, {-2, -2, 0, 0, 2, 2});
}

TEST_CASE("fake_quantize with a scale for each channel") {
  const Array x = uniform({3, 2, 4}, -2, 2);
  const std::vector<double> scales = {0.01, 0.5}, zeros = {-3, 5}, values = x.to_vector<double>();
  std::vector<double> expected;
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t channel = i / 4 % 2;
    expected.push_back(formula(values[i], scales[channel], zeros[channel], -128, 127));
  }
  const Array zero_point = on_test_device(array<int8_t>({-3, 5}));
  for (const int64_t axis : {1, -2}) {
    check_close(F::fake_quantize(Variable(x), on_test_device(array(scales)), {.zero_point = zero_point, .axis = axis}),
                {3, 2, 4}, expected);
  }
}

TEST_CASE("fake_quantize: gradients go straight through what is not cut off, to any order") {
  const Variable x(on_test_device(array<double>({-130, -128.4, -128, 0.3, 127, 127.4, 130})));
  const Variable w(on_test_device(array<double>({1, 2, 3, 4, 5, 6, 7})));
  const std::vector<double> mask = {0, 1, 1, 1, 1, 1, 0};
  const Variable y = F::fake_quantize(x, number(1));
  const Variables gx = grad({F::sum(y * w)}, {x}, {.enable_double_backprop = true});
  std::vector<double> expected = w.array().to_vector<double>();
  for (size_t i = 0; i < mask.size(); ++i) expected[i] *= mask[i];
  check_close(gx[0], {7}, expected);
  // gx = mask * w is linear in w: d sum(gx * gx) / dw = 2 mask w.
  const Variables gw = grad({F::sum(gx[0] * gx[0])}, {w}, {});
  for (double& value : expected) value *= 2;
  check_close(gw[0], {7}, expected);
  const Variable narrow = F::fake_quantize(x, number(1), {.narrow_range = true});
  check_close(grad({F::sum(narrow)}, {x}, {})[0], {7}, {0, 0, 0, 1, 1, 1, 0});
}

TEST_CASE("fake_quantize: the gradient of what is cut off is 0, whatever comes") {
  const float inf = std::numeric_limits<float>::infinity();
  const Variable x(on_test_device(array<float>({0.1f, 100, -100, inf})));
  const Array gy = on_test_device(array<float>({2, inf, std::nanf(""), 3}));
  Variable y = F::fake_quantize(x, number(0.01));
  y.set_grad(gy);
  y.backward();
  check_close(Variable(x.grad()), {4}, {2, 0, 0, 0});
}

TEST_CASE("fake_quantize: errors") {
  const Variable x(on_test_device(zeros({2, 3})));
  const Array scale = on_test_device(ones({3})), one = on_test_device(ones({}));
  CHECK_THROWS_WITH_AS(F::fake_quantize(Variable(int_ones({2})), one),
                       "F::fake_quantize: x has dtype int64: x.dtype must be floating", TypeError);
  CHECK_THROWS_WITH_AS(F::fake_quantize(x, int_ones({})),
                       "F::fake_quantize: scale has dtype int64: scale.dtype must be floating", TypeError);
  CHECK_THROWS_WITH_AS(F::fake_quantize(x, scale),
                       "F::fake_quantize: scale has shape (3,): scale.ndim must equal 0 (1 != 0)", TypeError);
  CHECK_THROWS_WITH_AS(
      F::fake_quantize(x, scale, {.axis = 0}),
      "F::fake_quantize: scale has shape (3,) but x has shape (2, 3): scale.shape[0] must equal x.shape[0] "
      "(3 != 2)",
      TypeError);
  CHECK_THROWS_AS(F::fake_quantize(x, scale, {.axis = 2}), IndexError);
  CHECK_THROWS_AS(F::fake_quantize(x, one, {.zero_point = one}), TypeError);
  CHECK_THROWS_AS(F::fake_quantize(x, Array()), TypeError);
  CHECK_THROWS_AS(F::fake_quantize(Variable(), one), TypeError);
  CHECK_THROWS_WITH_AS(F::fake_quantize(x, one, {.dtype = Dtype::int32}),
                       "F::fake_quantize: dtype is int32: it must be int8 or uint8", ValueError);
  // Read where the host has them.
  const Variable on_host(zeros({2, 3}));
  CHECK_THROWS_WITH_AS(
      F::fake_quantize(on_host, ones({}), {.zero_point = full({}, 300, Dtype::int32), .dtype = Dtype::uint8}),
      "F::fake_quantize: zero_point has 300: it must be in [0, 255], as uint8 is", ValueError);
  CHECK_THROWS_WITH_AS(F::fake_quantize(on_host, ones({2}), {.zero_point = array<int64_t>({-128, -129}), .axis = 0}),
                       "F::fake_quantize: zero_point has -129: it must be in [-128, 127], as int8 is", ValueError);
}

}  // namespace
}  // namespace kusari
