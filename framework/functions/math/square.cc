#include "kusari/framework/functions/math/square.h"

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/math_functions.h"

namespace kusari::functions {
namespace {

class Square final : public UnaryFunction<kernels::Square, Keep::input> {
  Variables backward(const Variables& gy) override { return {retained_input(0) * gy[0] * 2}; }
};

}  // namespace

Variable square(const Variable& x) { return apply<Square>({x}); }

}  // namespace kusari::functions
