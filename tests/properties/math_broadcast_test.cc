#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/bias.h"
#include "kusari/framework/functions/math/cosine_similarity.h"
#include "kusari/framework/functions/math/fmod.h"
#include "kusari/framework/functions/math/gammainc.h"
#include "kusari/framework/functions/math/linear_interpolate.h"
#include "kusari/framework/functions/math/logaddexp.h"
#include "kusari/framework/functions/math/maximum.h"
#include "kusari/framework/functions/math/minimum.h"
#include "kusari/framework/functions/math/modulo.h"
#include "kusari/framework/functions/math/polygamma.h"
#include "kusari/framework/functions/math/scale.h"
#include "kusari/framework/functions/math/trigonometric.h"
#include "kusari/framework/functions/math/zeta.h"
#include "kusari/tests/properties/property.h"
#include "kusari/tests/special_reference.h"
#include "kusari/tests/test_device.h"

namespace kusari {
namespace {

using namespace testing;

/// Two shapes that broadcast; either may be the larger one.
std::pair<Shape, Shape> broadcast_pair(Draw& draw) {
  const Shape whole = draw.shape(0, 4, 4, true), part = draw.broadcastable(whole);
  switch (draw.integer(0, 3)) {
    case 0:
      return {whole, whole};
    case 1:
      return {part, whole};
    default:
      return {whole, part};
  }
}

/// y = function(a, b) against formula(a, b), broadcast; `first` and `second` draw the arrays.
template <class Function, class Formula, class First, class Second>
void check_binary_property(Function function, Formula formula, First first, Second second,
                           const PropertyCase& options = {}) {
  check_property([=](Draw& draw) {
    const auto [a, b] = broadcast_pair(draw);
    PropertyCase one = options;
    one.inputs = {first(draw, a), second(draw, b)};
    one.function = [=](const Variables& x) { return Variables{function(x[0], x[1])}; };
    one.reference = [=](const References& x) { return References{naive::map(formula, x[0], x[1])}; };
    return one;
  });
}

Array any_real(Draw& draw, const Shape& shape) { return draw.real(shape, -2, 2); }
Array far_from_0(Draw& draw, const Shape& shape) { return draw.real_away(shape, -2, 2, {0}, 0.4); }
Array positive(Draw& draw, const Shape& shape) { return draw.real(shape, 0.4, 2); }

/// Multiples of `step`, plus `offset`.
Array grid(Draw& draw, const Shape& shape, double step, double offset) {
  std::vector<double> values;
  for (const int64_t k : draw.integers(shape, -10, 10).to_vector<int64_t>()) {
    values.push_back(static_cast<double>(k) * step + offset);
  }
  return array(values, shape);
}

#define KUSARI_OPERATOR_PROPERTY(op, second)                                            \
  TEST_CASE("property: operator " #op) {                                                \
    check_binary_property([](const Variable& a, const Variable& b) { return a op b; },  \
                          [](double a, double b) { return a op b; }, any_real, second); \
  }
KUSARI_OPERATOR_PROPERTY(+, any_real)
KUSARI_OPERATOR_PROPERTY(-, any_real)
KUSARI_OPERATOR_PROPERTY(*, any_real)
KUSARI_OPERATOR_PROPERTY(/, far_from_0)

TEST_CASE("property: operators with an array") {
  check_property([](Draw& draw) -> PropertyCase {
    const auto [a, b] = broadcast_pair(draw);
    const Array constant = far_from_0(draw, b);
    const Reference c{b, constant.to_vector<double>()};
    const bool swaps = draw.flip();
    const int64_t op = draw.integer(0, 3);
    const auto apply = [=](const auto& x, const auto& y) {
      return op == 0 ? x + y : op == 1 ? x - y : op == 2 ? x * y : x / y;
    };
    return {.inputs = {far_from_0(draw, a)},
            .function =
                [=](const Variables& x) {
                  const Array other = on_test_device(constant);
                  return Variables{swaps ? apply(other, x[0]) : apply(x[0], other)};
                },
            .reference =
                [=](const References& x) {
                  return References{
                      naive::map([=](double v, double w) { return swaps ? apply(w, v) : apply(v, w); }, x[0], c)};
                }};
  });
}

TEST_CASE("property: add") {
  check_property([](Draw& draw) -> PropertyCase {
    const Shape whole = draw.shape(0, 4, 4, true);
    Arrays inputs;
    for (int64_t n = draw.integer(1, 4); n > 0; --n) {
      inputs.push_back(draw.real(draw.flip() ? whole : draw.broadcastable(whole), -2, 2));
    }
    return {.inputs = inputs,
            .function =
                [](const Variables& x) {
                  return Variables{F::add({x.data(), x.size()})};
                },
            .reference =
                [](const References& x) {
                  Reference sum = x[0];
                  for (size_t i = 1; i < x.size(); ++i) sum = naive::map(std::plus<double>(), sum, x[i]);
                  return References{sum};
                }};
  });
}

TEST_CASE("property: pow") {
  check_binary_property([](const Variable& a, const Variable& b) { return F::pow(a, b); },
                        [](double a, double b) { return std::pow(a, b); }, positive, any_real);
}

TEST_CASE("property: arctan2") {
  check_binary_property([](const Variable& a, const Variable& b) { return F::arctan2(a, b); },
                        [](double a, double b) { return std::atan2(a, b); }, far_from_0, any_real);
}

TEST_CASE("property: fmod") {
  const auto dividend = [](Draw& draw, const Shape& shape) { return grid(draw, shape, 0.25, 0.125); };
  const auto divisor = [](Draw& draw, const Shape& shape) {
    std::vector<double> values;
    for (int64_t n = numel(shape); n > 0; --n) values.push_back(draw.pick({-2.0, -1.0, -0.5, 0.5, 1.0, 2.0}));
    return array(values, shape);  // quotients keep a distance of 1/16 from integers
  };
  check_binary_property([](const Variable& a, const Variable& b) { return F::fmod(a, b); },
                        [](double a, double b) { return std::fmod(a, b); }, dividend, divisor);
}

TEST_CASE("property: modulo") {
  const auto dividend = [](Draw& draw, const Shape& shape) { return grid(draw, shape, 0.25, 0.125); };
  const auto divisor = [](Draw& draw, const Shape& shape) {
    std::vector<double> values;
    for (int64_t n = numel(shape); n > 0; --n) values.push_back(draw.pick({-2.0, -1.0, -0.5, 0.5, 1.0, 2.0}));
    return array(values, shape);
  };
  check_binary_property([](const Variable& a, const Variable& b) { return F::modulo(a, b); },
                        [](double a, double b) { return a - b * std::floor(a / b); }, dividend, divisor);
}

// Elements of the two never tie.
const auto kOnGrid = [](Draw& draw, const Shape& shape) { return grid(draw, shape, 0.5, 0); };
const auto kOffGrid = [](Draw& draw, const Shape& shape) { return grid(draw, shape, 0.5, 0.25); };

TEST_CASE("property: maximum") {
  check_binary_property([](const Variable& a, const Variable& b) { return F::maximum(a, b); },
                        [](double a, double b) { return a > b ? a : b; }, kOnGrid, kOffGrid);
}

TEST_CASE("property: minimum") {
  check_binary_property([](const Variable& a, const Variable& b) { return F::minimum(a, b); },
                        [](double a, double b) { return a < b ? a : b; }, kOnGrid, kOffGrid);
}

/// The sum of x^(a + n) exp(-x) / gamma(a + n + 1).
double gammainc_reference(double a, double x) {
  long double sum = 0;
  for (int n = 0; n < 80; ++n) {
    const long double power = static_cast<long double>(a) + n;
    sum += std::exp(power * std::log(static_cast<long double>(x)) - x - std::lgamma(power + 1));
  }
  return static_cast<double>(sum);
}

TEST_CASE("property: gammainc") {
  check_binary_property([](const Variable& a, const Variable& x) { return F::gammainc(a, x); }, gammainc_reference,
                        positive, positive);
}

TEST_CASE("property: gammaincc") {
  check_binary_property([](const Variable& a, const Variable& x) { return F::gammaincc(a, x); },
                        [](double a, double x) { return 1 - gammainc_reference(a, x); }, positive, positive);
}

TEST_CASE("property: polygamma") {
  check_binary_property(
      [](const Variable& n, const Variable& x) { return F::polygamma(n, x); },
      [](double n, double x) { return static_cast<double>(polygamma_reference(static_cast<int>(n), x)); },
      [](Draw& draw, const Shape& shape) {
        return draw.integers(shape, 0, 3, draw.flip() ? Dtype::int32 : Dtype::int64);
      },
      [](Draw& draw, const Shape& shape) { return draw.real(shape, 0.8, 4); });
}

TEST_CASE("property: zeta") {
  check_binary_property([](const Variable& x, const Variable& q) { return F::zeta(x, q); },
                        [](double x, double q) { return static_cast<double>(zeta_reference(x, q)); },
                        [](Draw& draw, const Shape& shape) { return draw.real(shape, 1.3, 5); },
                        [](Draw& draw, const Shape& shape) { return draw.real(shape, 0.8, 4); },
                        {.no_grads = {true, false}});
}

TEST_CASE("property: linear_interpolate") {
  check_property([](Draw& draw) -> PropertyCase {
    const Shape shape = draw.shape(0, 4, 5, true);
    return {.inputs = {draw.real(shape, 0, 1), draw.real(shape, -2, 2), draw.real(shape, -2, 2)},
            .function = [](const Variables& x) { return Variables{F::linear_interpolate(x[0], x[1], x[2])}; },
            .reference =
                [](const References& x) {
                  return References{
                      naive::map([](double p, double a, double b) { return p * a + (1 - p) * b; }, x[0], x[1], x[2])};
                }};
  });
}

/// For F::bias and F::scale: y's axes stand for x's from `axis` on.
template <class Function, class Formula>
void check_along_axis(Function function, Formula formula) {
  check_property([=](Draw& draw) -> PropertyCase {
    const Shape shape = draw.shape(1, 4, 4, true);
    const int64_t axis = draw.integer(0, shape.ndim() - 1), end = draw.integer(axis, shape.ndim());
    const Shape part(shape.begin() + axis, shape.begin() + end);
    return {.inputs = {draw.real(shape, -2, 2), draw.real(part, -2, 2)},
            .function = [=](const Variables& x) { return Variables{function(x[0], x[1], axis)}; },
            .reference =
                [=](const References& x) {
                  return References{naive::make(shape, [&](const Shape& index) {
                    const Shape own(index.begin() + axis, index.begin() + end);
                    return formula(x[0].at(index), x[1].at(own));
                  })};
                }};
  });
}

TEST_CASE("property: bias") {
  check_along_axis([](const Variable& x, const Variable& y, int64_t axis) { return F::bias(x, y, axis); },
                   std::plus<double>());
}

TEST_CASE("property: scale") {
  check_along_axis([](const Variable& x, const Variable& y, int64_t axis) { return F::scale(x, y, axis); },
                   std::multiplies<double>());
}

TEST_CASE("property: logaddexp") {
  check_binary_property(
      F::logaddexp, [](double a, double b) { return std::log(std::exp(a) + std::exp(b)); }, any_real, any_real);
}

TEST_CASE("property: cosine_similarity") {
  check_property([](Draw& draw) -> PropertyCase {
    const Shape shape = draw.shape(1, 4, 4);
    const int64_t axis = draw.axis(shape.ndim());
    const double eps = draw.pick({1e-8, 5.0});  // smaller than all norms, larger than all
    const bool is_first = draw.flip();
    const Shape other = draw.broadcastable(shape);
    return {.inputs = {draw.real_away(is_first ? shape : other, -2, 2, {0}, 0.4),
                       draw.real_away(is_first ? other : shape, -2, 2, {0}, 0.4)},
            .function = [=](const Variables& x) { return Variables{F::cosine_similarity(x[0], x[1], axis, eps)}; },
            .reference =
                [=](const References& x) {
                  const Reference a = naive::broadcast_to(x[0], shape), b = naive::broadcast_to(x[1], shape);
                  const int k = naive::positive_axis(axis, shape.ndim());
                  Shape outer = shape;
                  outer.erase(k);
                  return References{naive::make(outer, [&](Shape at) {
                    at.insert(k, 0);
                    double product = 0, aa = 0, bb = 0;
                    for (; at[k] < shape[k]; ++at[k]) {
                      product += a.at(at) * b.at(at);
                      aa += a.at(at) * a.at(at);
                      bb += b.at(at) * b.at(at);
                    }
                    return product / (std::max(std::sqrt(aa), eps) * std::max(std::sqrt(bb), eps));
                  })};
                }};
  });
}

}  // namespace
}  // namespace kusari
