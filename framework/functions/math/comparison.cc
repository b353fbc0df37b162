#include "kusari/framework/functions/math/comparison.h"

#include <limits>

#include "kusari/framework/functions/given.h"
#include "kusari/framework/kernels/array_math.h"
#include "kusari/framework/kernels/array_operators.h"

namespace kusari::functions {
namespace {

template <class Compare>
Variable compared(const char* call, const Variable& a, const Variable& b, const Compare& compare) {
  expect_given(a, call, "a");
  expect_given(b, call, "b");
  broadcast_shapes(a.shape(), b.shape(), call);
  return Variable(compare(a.array(), b.array()), false);
}

}  // namespace

#define KUSARI_COMPARE(name, op)                                                                             \
  Variable name(const Variable& a, const Variable& b) {                                                      \
    return compared("F::" #name, a, b, [](const Array& left, const Array& right) { return left op right; }); \
  }
KUSARI_COMPARE(equal, ==)
KUSARI_COMPARE(not_equal, !=)
KUSARI_COMPARE(less, <)
KUSARI_COMPARE(less_equal, <=)
KUSARI_COMPARE(greater, >)
KUSARI_COMPARE(greater_equal, >=)
#undef KUSARI_COMPARE

Variable isnan(const Variable& x) {
  expect_given(x, "F::isnan", "x");
  return Variable(xp::isnan(x.array()), false);
}

Variable isinf(const Variable& x, const IsinfOptions& options) {
  expect_given(x, "F::isinf", "x");
  if (options.positive && options.negative) return Variable(xp::isinf(x.array()), false);
  if (!is_floating(x.dtype()) || (!options.positive && !options.negative)) {
    return Variable(zeros(x.shape(), Dtype::bool_, x.device()), false);
  }
  const double infinity = std::numeric_limits<double>::infinity();
  return Variable(x.array() == (options.positive ? infinity : -infinity), false);
}

}  // namespace kusari::functions
