#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/array.h"
#include "kusari/framework/core/shape.h"
#include "kusari/tests/properties/naive.h"

// Functions against what they mean: each is called with many drawn inputs and compared with a reference written as
// loops over doubles (naive.h), and its gradients with differences of itself.
//
//   TEST_CASE("property: softplus") {
//     check_property([](Draw& draw) -> PropertyCase {
//       const double beta = draw.number(0.5, 3);
//       return {.inputs = {draw.real(draw.shape(0, 4), -2, 2)},
//               .function = [=](const Variables& x) { return Variables{F::softplus(x[0], beta)}; },
//               .reference = [=](const References& x) {
//                 return References{naive::map([=](double v) { return std::log1p(std::exp(beta * v)) / beta; }, x[0])};
//               }};
//     });
//   }
namespace kusari {

namespace functions {}
namespace F = functions;

namespace testing {

/// A seeded generator of arguments, the same on every machine. Arrays are C-contiguous.
class Draw {
 public:
  explicit Draw(uint64_t seed) : seed_{seed} {}

  /// Between the two, both included.
  int64_t integer(int64_t low, int64_t high);
  double number(double low, double high);
  bool flip() { return integer(0, 1) == 1; }
  template <class T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[integer(0, static_cast<int64_t>(values.size()) - 1)];
  }

  /// Sizes from 1 to max_size; where it may be empty, one shape in sixteen with axes has an axis of size 0.
  Shape shape(int min_ndim, int max_ndim, int64_t max_size = 5, bool may_be_empty = false);
  /// A shape that broadcasts to `shape`: some axes have size 1, some leading ones are missing.
  Shape broadcastable(const Shape& shape);
  /// The numbers 0 .. n-1 in some order.
  std::vector<int64_t> permutation(int64_t n);
  /// Some axes, at least `min_count`, of an array that has `ndim`: distinct, in any order, some counted from the end.
  std::vector<int64_t> axes(int ndim, int min_count = 1);
  int64_t axis(int ndim) { return integer(-ndim, ndim - 1); }

  /// Numbers of float64.
  Array real(const Shape& shape, double low, double high);
  /// Numbers that keep a distance of `gap` from every kink: places where a function has no derivative.
  Array real_away(const Shape& shape, double low, double high, const std::vector<double>& kinks, double gap = 0.05);
  /// Numbers around 0 of which any two differ by at least `gap`, so that the largest is clear.
  Array distinct(const Shape& shape, double gap = 0.1);
  Array integers(const Shape& shape, int64_t low, int64_t high, Dtype dtype = Dtype::int32);
  Array booleans(const Shape& shape);

  /// The same elements in C order, with axes in another order in memory, or spread in a larger block: with gaps, which
  /// hold NaN (99 for integers), and axes that run backwards.
  Array view(const Array& array);

 private:
  uint64_t seed_;
  uint64_t next_ = 0;
};

using References = std::vector<Reference>;

/// One drawn call of a function.
struct PropertyCase {
  Arrays inputs = {};  ///< floating ones in float64; an undefined one is an absent argument
  std::function<Variables(const Variables&)> function = {};
  /// What each output must be. Called with the inputs that the function got, rounded to its dtype; an absent one is
  /// empty.
  std::function<References(const References&)> reference = {};

  bool first_order = true;  ///< check gradients
  bool second_order = true;
  std::vector<bool> no_grads = {};  ///< per input: true leaves it out of the check of gradients
  bool float32 = true;              ///< compare in float32 too
  bool same_dtype = true;           ///< floating outputs must have the dtype of the floating inputs

  double atol = 1e-10;  ///< |y - reference| <= atol + rtol * |reference| in float64
  double rtol = 1e-10;
  double float32_atol = 2e-5;
  double float32_rtol = 2e-5;
  double gradient_atol = 1e-6;  ///< of the first order; ten times that of the second
  double gradient_rtol = 1e-5;
  double eps = 1e-4;  ///< step of the differences, see gradient_check
};

/// The first of that many cases that fails, in words; "" when none does.
std::string find_failure(const std::function<PropertyCase(Draw&)>& draw, uint64_t seed, int64_t cases);

/// Draws and checks that many cases; stops at the first that fails and says how it came about. In the environment,
/// KUSARI_PROPERTY_CASES gives another number of cases and KUSARI_PROPERTY_SEED other cases.
void check_property(const std::function<PropertyCase(Draw&)>& draw, int cases = 200);

/// check_property for y[i] = formula(x[i]) with x in [low, high), away from the kinks, of any shape.
template <class Function, class Formula>
void check_pointwise_property(Function function, Formula formula, double low, double high,
                              const std::vector<double>& kinks = {}, const PropertyCase& options = {}) {
  check_property([=](Draw& draw) {
    PropertyCase one = options;
    one.inputs = {draw.real_away(draw.shape(0, 4, 5, true), low, high, kinks)};
    one.function = [=](const Variables& x) { return Variables{function(x[0])}; };
    one.reference = [=](const References& x) { return References{naive::map(formula, x[0])}; };
    return one;
  });
}

}  // namespace testing
}  // namespace kusari
