#pragma once

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/autograd/gradient_check.h"
#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/philox.h"
#include "kusari/tests/skip.h"
#include "kusari/tests/test_device.h"

namespace kusari {

namespace functions {}
namespace F = functions;

// What the tests of functions share.
namespace testing {

inline constexpr Dtype kFloatingDtypes[] = {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64};

/// Numbers of float64 in [low, high) on the test's device, the same for the same arguments.
inline Array uniform(const Shape& shape, double low, double high, uint64_t seed = 1) {
  std::vector<double> values(static_cast<size_t>(numel(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = low + (high - low) * (philox_word(seed, i) + 0.5) * 0x1p-32;
  return array(values, shape, test_device());
}

/// Whether an image made by a function lies in memory as the configuration says.
inline bool has_image_layout(const Array& image) {
  return config().channels_last ? image.is_channels_last() : image.is_contiguous();
}

inline Array int_ones(const Shape& shape) { return ones(shape, Dtype::int64, test_device()); }

/// Relative tolerance for a few operations in a dtype; also the absolute one for values near 1.
inline double tolerance(Dtype dtype) {
  switch (dtype) {
    case Dtype::float16:
      return 2e-3;
    case Dtype::bfloat16:
      return 1.6e-2;
    case Dtype::float32:
      return 2e-6;
    default:
      return 1e-13;
  }
}

/// Equal shapes, and values within `factor` tolerances of the dtype of `y`. NaN equals NaN.
inline void check_close(const Array& y, const Shape& shape, const std::vector<double>& expected, double factor = 1) {
  REQUIRE(y.shape() == shape);
  const std::vector<double> values = y.to_vector<double>();
  REQUIRE(values.size() == expected.size());
  const double tol = factor * tolerance(y.dtype());
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i]) && std::isnan(expected[i])) continue;
    if (values[i] == expected[i]) continue;
    CAPTURE(i);
    CHECK(values[i] == doctest::Approx(expected[i]).epsilon(tol).scale(1));
  }
}
inline void check_close(const Variable& y, const Shape& shape, const std::vector<double>& expected, double factor = 1) {
  check_close(y.array(), shape, expected, factor);
}

/// Every element of function(x...) against formula(elements of x...), in all floating dtypes, in C order and
/// transposed. The arrays have one shape.
template <class Function, class Formula, class... Xs>
void check_forward(Function&& function, Formula&& formula, const Xs&... xs) {
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    const Array arrays[] = {on_test_device(xs).astype(dtype)...};
    const Shape& shape = arrays[0].shape();
    std::vector<double> expected;
    for (size_t i = 0; i < static_cast<size_t>(numel(shape)); ++i) {
      size_t k = 0;
      const double at[] = {((void)xs, arrays[k++].template to_vector<double>()[i])...};
      if constexpr (sizeof...(Xs) == 1) {
        expected.push_back(formula(at[0]));
      } else {
        expected.push_back(formula(at[0], at[1]));
      }
    }
    const auto run = [&](auto&& prepare) {
      if constexpr (sizeof...(Xs) == 1) {
        return function(prepare(arrays[0]));
      } else {
        return function(prepare(arrays[0]), prepare(arrays[1]));
      }
    };
    const Variable y = run([](const Array& x) { return Variable(x); });
    CHECK(y.dtype() == dtype);
    check_close(y, shape, expected);
    // Elements in another order in memory.
    const Variable z = run([](const Array& x) { return Variable(x.transpose().contiguous().transpose()); });
    check_close(z, shape, expected);
  }
}

/// First and second derivatives against central differences, in float64.
template <class Function, class... Xs>
void check_gradients(Function&& function, const Xs&... xs) {
  const Arrays x(on_test_device(xs)...);
  CHECK_NOTHROW(gradient_check::check_backward(function, x, {}, {.atol = 1e-5, .rtol = 1e-4}));
  CHECK_NOTHROW(gradient_check::check_double_backward(function, x, {}, {}, {.atol = 1e-4, .rtol = 1e-3}));
}

/// dy/dx for gy = 1 (or the given one).
inline std::vector<double> gradient(const Variable& y, const Variable& x, const Array& gy = Array()) {
  const Variable seed(gy.is_defined() ? gy : ones_like(y.array()), false);
  return grad({y}, {x}, {.grad_outputs = std::span<const Variable>(&seed, 1)})[0].to_vector<double>();
}

/// All that a pointwise function of one array promises, for arguments in [low, high).
template <class Function, class Formula>
void check_unary(const char* name, Function&& function, Formula&& formula, double low, double high) {
  for (const Shape& shape : {Shape{2, 3}, Shape{}, Shape{0, 3}, Shape{1}, Shape{3, 1, 2}}) {
    CAPTURE(to_string(shape));
    const Array x = uniform(shape, low, high);
    check_forward(function, formula, x);
    check_gradients(function, x);
  }
  const std::string message = std::string("F::") + name + ": x has dtype int64: x.dtype must be floating";
  CHECK_THROWS_WITH_AS(function(Variable(int_ones({2}), false)), message.c_str(), TypeError);
}

}  // namespace testing
}  // namespace kusari
