#include "kusari/framework/functions/math/rounding.h"

#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari::functions {
namespace {

template <class Op>
Variable rounded(const char* function, const Variable& x) {
  expect_given(x, function, "x");
  if (!is_floating(x.dtype())) {
    throw TypeError(std::string(function) + ": x has dtype " + name(x.dtype()) + ": x.dtype must be floating");
  }
  return apply<StepFunction<Op>>({Variable(x.array(), false)}, function);
}

}  // namespace

Variable floor(const Variable& x) { return rounded<kernels::Floor>("F::floor", x); }
Variable ceil(const Variable& x) { return rounded<kernels::Ceil>("F::ceil", x); }
Variable fix(const Variable& x) { return rounded<kernels::Trunc>("F::fix", x); }
Variable round(const Variable& x) { return rounded<kernels::Rint>("F::round", x); }

}  // namespace kusari::functions
