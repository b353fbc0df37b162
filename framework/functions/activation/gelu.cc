#include "kusari/framework/functions/activation/gelu.h"

#include <numbers>

#include "kusari/framework/core/config.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/clip.h"
#include "kusari/framework/functions/math/erf.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/activation.h"

namespace kusari::functions {
namespace {

class Gelu final : public UnaryFunction<kernels::Gelu, Keep::input> {
  Variables backward(const Variables& gy) override {
    const Variable x = retained_input(0);
    if (!config().enable_backprop) {
      return {Variable(pointwise(kernels::GeluGrad{}, x.array(), gy[0].array()), false)};
    }
    const Variable density = exp(-0.5 * x * x) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
    return {gy[0] * (0.5 * (1 + erf(x * (1 / std::numbers::sqrt2))) + x * density)};
  }
};

class GeluTanh final : public UnaryFunction<kernels::GeluTanh, Keep::input> {
  Variables backward(const Variables& gy) override {
    const Variable x = retained_input(0);
    if (!config().enable_backprop) {
      return {Variable(pointwise(kernels::GeluTanhGrad{}, x.array(), gy[0].array()), false)};
    }
    constexpr double kScale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, kCube = 0.044715;
    const Variable near = clip(x, -30, 30);  // as the kernel
    const Variable square = near * near, t = tanh(kScale * (near + kCube * square * near));
    return {gy[0] * (0.5 * (1 + t + near * (1 - t * t) * (kScale * (1 + 3 * kCube * square))))};
  }
};

}  // namespace

Variable gelu(const Variable& x, GeluForm form) {
  expect_given(x, "F::gelu", "x");
  return form == GeluForm::exact ? apply<Gelu>({x}) : apply<GeluTanh>({x});
}

}  // namespace kusari::functions
