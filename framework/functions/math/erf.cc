#include "kusari/framework/functions/math/erf.h"

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/error_function.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/math_functions.h"

namespace kusari::functions {
namespace {

class Erf final : public UnaryFunction<kernels::Erf, Keep::input> {
  Variables backward(const Variables& gy) override { return {kErfSlope * exp(-square(retained_input(0))) * gy[0]}; }
};

class Erfc final : public UnaryFunction<kernels::Erfc, Keep::input> {
  Variables backward(const Variables& gy) override { return {-kErfSlope * exp(-square(retained_input(0))) * gy[0]}; }
};

}  // namespace

Variable erf(const Variable& x) { return apply<Erf>({x}); }
Variable erfc(const Variable& x) { return apply<Erfc>({x}); }

}  // namespace kusari::functions
