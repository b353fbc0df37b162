#include "kusari/optimizers/hooks/gradient_noise.h"

#include <cmath>

#include "kusari/framework/initializers/normal.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari::optimizer_hooks {

void GradientNoise::operator()(UpdateRule& rule, Parameter& parameter) const {
  const Array& array = parameter.array();
  const double deviation = std::sqrt(eta / std::pow(1 + static_cast<double>(rule.t), 0.55));
  const Array noise = empty_like(array);
  const initializers::Normal draw{deviation};
  draw(noise);
  parameter.set_grad(pointwise(kernels::Add{}, parameter.grad(), noise));
}

}  // namespace kusari::optimizer_hooks
