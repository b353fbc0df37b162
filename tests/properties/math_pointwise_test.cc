#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/clip.h"
#include "kusari/framework/functions/math/digamma.h"
#include "kusari/framework/functions/math/erf.h"
#include "kusari/framework/functions/math/erfcinv.h"
#include "kusari/framework/functions/math/erfcx.h"
#include "kusari/framework/functions/math/erfinv.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/exponential_m1.h"
#include "kusari/framework/functions/math/hyperbolic.h"
#include "kusari/framework/functions/math/identity.h"
#include "kusari/framework/functions/math/lgamma.h"
#include "kusari/framework/functions/math/log_ndtr.h"
#include "kusari/framework/functions/math/logarithm_1p.h"
#include "kusari/framework/functions/math/ndtr.h"
#include "kusari/framework/functions/math/ndtri.h"
#include "kusari/framework/functions/math/reciprocal.h"
#include "kusari/framework/functions/math/rounding.h"
#include "kusari/framework/functions/math/sign.h"
#include "kusari/framework/functions/math/sqrt.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/math/trigonometric.h"
#include "kusari/framework/functions/quantization/fake_quantize.h"
#include "kusari/tests/properties/property.h"
#include "kusari/tests/special_reference.h"

namespace kusari {
namespace {

using namespace testing;

/// A function of one array without options, by its overload for a Variable.
#define KUSARI_UNARY(function) [](const Variable& x) { return F::function(x); }

#define KUSARI_POINTWISE_PROPERTY(name, formula, ...)                                            \
  TEST_CASE("property: " #name) {                                                                \
    check_pointwise_property(                                                                    \
        KUSARI_UNARY(name), [](double x) { return static_cast<double>(formula); }, __VA_ARGS__); \
  }

KUSARI_POINTWISE_PROPERTY(absolute, std::abs(x), -2, 2, {0})
KUSARI_POINTWISE_PROPERTY(arccos, std::acos(x), -0.9, 0.9)
KUSARI_POINTWISE_PROPERTY(arccosh, std::acosh(x), 1.1, 5)
KUSARI_POINTWISE_PROPERTY(arcsin, std::asin(x), -0.9, 0.9)
KUSARI_POINTWISE_PROPERTY(arcsinh, std::asinh(x), -4, 4)
KUSARI_POINTWISE_PROPERTY(arctan, std::atan(x), -4, 4)
KUSARI_POINTWISE_PROPERTY(arctanh, std::atanh(x), -0.8, 0.8)
KUSARI_POINTWISE_PROPERTY(cos, std::cos(x), -10, 10)
KUSARI_POINTWISE_PROPERTY(cosh, std::cosh(x), -3, 3)
KUSARI_POINTWISE_PROPERTY(digamma, digamma_reference(x), -3, 4, {-3, -2, -1, 0}, {.gradient_rtol = 1e-4, .eps = 1e-5})
KUSARI_POINTWISE_PROPERTY(erf, std::erf(x), -3, 3)
KUSARI_POINTWISE_PROPERTY(erfc, std::erfc(x), -3, 3)
KUSARI_POINTWISE_PROPERTY(erfcinv, erfcinv_reference(x), 0.1, 1.9)
KUSARI_POINTWISE_PROPERTY(erfcx, erfcx_reference(x), -2, 6)
KUSARI_POINTWISE_PROPERTY(erfinv, erfinv_reference(x), -0.9, 0.9)
KUSARI_POINTWISE_PROPERTY(exp, std::exp(x), -4, 4)
KUSARI_POINTWISE_PROPERTY(expm1, std::expm1(x), -3, 3)
KUSARI_POINTWISE_PROPERTY(lgamma, std::lgamma(x), -3, 4, {-3, -2, -1, 0})
KUSARI_POINTWISE_PROPERTY(log, std::log(x), 0.2, 5)
KUSARI_POINTWISE_PROPERTY(reciprocal, 1 / x, 0.3, 4)
KUSARI_POINTWISE_PROPERTY(log10, std::log10(x), 0.2, 5)
KUSARI_POINTWISE_PROPERTY(log1p, std::log1p(x), -0.7, 5)
KUSARI_POINTWISE_PROPERTY(log2, std::log2(x), 0.2, 5)
KUSARI_POINTWISE_PROPERTY(log_ndtr, log_ndtr_reference(x), -8, 4)
KUSARI_POINTWISE_PROPERTY(ndtr, ndtr_reference(x), -4, 4)
KUSARI_POINTWISE_PROPERTY(ndtri, ndtri_reference(x), 0.05, 0.95)
KUSARI_POINTWISE_PROPERTY(rsqrt, 1 / std::sqrt(x), 0.3, 4)
KUSARI_POINTWISE_PROPERTY(sin, std::sin(x), -10, 10)
KUSARI_POINTWISE_PROPERTY(sinh, std::sinh(x), -3, 3)
KUSARI_POINTWISE_PROPERTY(sqrt, std::sqrt(x), 0.2, 4)
KUSARI_POINTWISE_PROPERTY(square, x* x, -3, 3)
KUSARI_POINTWISE_PROPERTY(tan, std::tan(x), -1.2, 1.2)

// Constant between their steps: no gradient reaches x.
const PropertyCase kStepOptions = {.second_order = false};
const std::vector<double> kSteps = {-3, -2, -1, 0, 1, 2, 3};
KUSARI_POINTWISE_PROPERTY(ceil, std::ceil(x), -3, 3, kSteps, kStepOptions)
KUSARI_POINTWISE_PROPERTY(fix, std::trunc(x), -3, 3, kSteps, kStepOptions)
KUSARI_POINTWISE_PROPERTY(floor, std::floor(x), -3, 3, kSteps, kStepOptions)
KUSARI_POINTWISE_PROPERTY(sign, (x > 0) - (x < 0), -2, 2, {0}, kStepOptions)

TEST_CASE("property: clip") {
  check_property([](Draw& draw) -> PropertyCase {
    const bool open_below = draw.flip(), open_above = !open_below && draw.flip();
    const double number = draw.number(-1.5, 0.5), low = open_below ? -HUGE_VAL : number;
    const double high = open_above ? HUGE_VAL : number + draw.number(0.2, 1);
    const std::optional<double> x_min = open_below ? std::nullopt : std::optional(low);
    const std::optional<double> x_max = open_above ? std::nullopt : std::optional(high);
    return {.inputs = {draw.real_away(draw.shape(0, 4, 5, true), -2, 2, {x_min.value_or(high), x_max.value_or(low)})},
            .function = [=](const Variables& x) { return Variables{F::clip(x[0], x_min, x_max)}; },
            .reference =
                [=](const References& x) {
                  return References{naive::map([=](double v) { return v < low ? low : v > high ? high : v; }, x[0])};
                },
            .float32_atol = 1e-6};
  });
}

// Straight through is no derivative: no difference finds it.
TEST_CASE("property: fake_quantize") {
  check_property([](Draw& draw) -> PropertyCase {
    const Shape shape = draw.shape(1, 4, 5, true);
    const int64_t axis = draw.axis(static_cast<int>(shape.size()));
    const bool by_channel = draw.flip(), is_signed = draw.flip(), is_narrow = draw.flip(), has_zero = draw.flip();
    const int64_t channels = shape[static_cast<int>(axis < 0 ? axis + shape.ndim() : axis)];
    const Shape scales = by_channel ? Shape{channels} : Shape{};
    // Powers of two, and numbers away from the middle between two steps: no rounding decides differently.
    const Array exponents = draw.integers(scales, -4, 2), zero = draw.integers(scales, is_signed ? -20 : 0, 20);
    std::vector<double> scale = exponents.to_vector<double>();
    for (double& one : scale) one = std::exp2(one);
    const std::vector<double> zeros = has_zero ? zero.to_vector<double>() : std::vector<double>(scale.size());
    const Array steps = draw.integers(shape, -300, 300);
    const Array x = steps.astype(Dtype::float64) * std::exp2(-4) + draw.real(shape, 0.001, 0.02);
    const double low = (is_signed ? -128 : 0) + (is_narrow ? 1 : 0), high = is_signed ? 127 : 255;
    return {.inputs = {x},
            .function =
                [=](const Variables& v) {
                  return Variables{F::fake_quantize(v[0], array(scale, scales, v[0].device()),
                                                    {.zero_point = has_zero ? zero.to_device(v[0].device()) : Array(),
                                                     .axis = by_channel ? std::optional<int64_t>(axis) : std::nullopt,
                                                     .dtype = is_signed ? Dtype::int8 : Dtype::uint8,
                                                     .narrow_range = is_narrow})};
                },
            .reference =
                [=](const References& v) {
                  Reference y = v[0];
                  int64_t inner = 1;  // elements of one place of the axis
                  for (int i = static_cast<int>(axis < 0 ? axis + shape.ndim() : axis) + 1; i < shape.ndim(); ++i) {
                    inner *= shape[i];
                  }
                  for (size_t i = 0; i < y.values.size(); ++i) {
                    const size_t k = by_channel ? i / static_cast<size_t>(inner) % scale.size() : 0;
                    const double q = std::clamp(std::nearbyint(y.values[i] / scale[k]) + zeros[k], low, high);
                    y.values[i] = (q - zeros[k]) * scale[k];
                  }
                  return References{y};
                },
            .first_order = false,
            .second_order = false};
  });
}

TEST_CASE("property: identity") {
  check_property([](Draw& draw) -> PropertyCase {
    return {.inputs = {draw.real(draw.shape(0, 4, 5, true), -1, 1), draw.real(draw.shape(0, 3), -1, 1)},
            .function = [](const Variables& x) { return F::identity(x[0], x[1]); },
            .reference = [](const References& x) { return x; },
            .atol = 0,
            .rtol = 0,
            .float32_atol = 0,
            .float32_rtol = 0};
  });
}

TEST_CASE("property: operator - of one array") {
  check_pointwise_property([](const Variable& x) { return -x; }, [](double x) { return -x; }, -2, 2);
}

TEST_CASE("property: operators with a constant") {
  check_property([](Draw& draw) -> PropertyCase {
    const double c = (draw.flip() ? 1 : -1) * draw.number(0.3, 2);
    const bool swaps = draw.flip();
    const int64_t op = draw.integer(0, 3);
    const auto apply = [=](const auto& a, const auto& b) {
      return op == 0 ? a + b : op == 1 ? a - b : op == 2 ? a * b : a / b;
    };
    return {.inputs = {draw.real_away(draw.shape(0, 4, 5, true), -2, 2, {0}, 0.4)},
            .function = [=](const Variables& x) { return Variables{swaps ? apply(c, x[0]) : apply(x[0], c)}; },
            .reference =
                [=](const References& x) {
                  return References{naive::map([=](double v) { return swaps ? apply(c, v) : apply(v, c); }, x[0])};
                }};
  });
}

TEST_CASE("property: pow with a constant exponent") {
  check_property([](Draw& draw) -> PropertyCase {
    const double exponent = draw.pick({-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 1.7, -2.3});
    const bool is_integral = exponent == std::floor(exponent);
    return {.inputs = {draw.real_away(draw.shape(0, 4, 5, true), is_integral ? -2 : 0.4, 2, {0}, 0.4)},
            .function = [=](const Variables& x) { return Variables{F::pow(x[0], exponent)}; },
            .reference =
                [=](const References& x) {
                  return References{naive::map([=](double v) { return std::pow(v, exponent); }, x[0])};
                }};
  });
}

TEST_CASE("property: pow of a constant") {
  check_property([](Draw& draw) -> PropertyCase {
    const double base = draw.number(0.3, 3);
    return {.inputs = {draw.real(draw.shape(0, 4, 5, true), -2, 2)},
            .function = [=](const Variables& x) { return Variables{F::pow(base, x[0])}; },
            .reference =
                [=](const References& x) {
                  return References{naive::map([=](double v) { return std::pow(base, v); }, x[0])};
                }};
  });
}

}  // namespace
}  // namespace kusari
