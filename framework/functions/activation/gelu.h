#pragma once

#include <cstdint>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// How F::gelu computes: by the error function, or by GPT-2's approximation with tanh, which differs by up to 5e-4.
enum class GeluForm : uint8_t { exact, tanh };

/// Gaussian error linear unit: y = x P(X <= x) for a standard normal X, = x (1 + erf(x / sqrt(2))) / 2.
/// x: any shape, floating. Returns y like x. Throws TypeError if x is not floating. Differentiable to any order.
/// Hendrycks and Gimpel 2016; torch.nn.functional.gelu (Chainer has none).
KUSARI_API Variable gelu(const Variable& x, GeluForm form = GeluForm::exact);

}  // namespace kusari::functions
