#include "kusari/framework/functions/math/erfcx.h"

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/error_function.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/math_functions.h"

namespace kusari::functions {
namespace {

class Erfcx final : public UnaryFunction<kernels::Erfcx, Keep::input> {
  Arrays forward(const ArrayRefs& in) override {
    retain_outputs({0});
    return UnaryFunction::forward(in);
  }
  Variables backward(const Variables& gy) override {
    return {(2 * retained_input(0) * retained_output(0) - kErfSlope) * gy[0]};
  }
};

}  // namespace

Variable erfcx(const Variable& x) { return apply<Erfcx>({x}); }

}  // namespace kusari::functions
