#pragma once

#include <optional>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Options of matmul.
struct MatmulOptions {
  bool transa = false;                        ///< read a with its last two axes exchanged; no effect on a vector
  bool transb = false;                        ///< the same for b
  std::optional<Dtype> dtype = std::nullopt;  ///< of the result; by default NumPy's promotion of a's and b's
};

/// Matrix product y = a b, by NumPy's rules.
/// a: (..., M, K), or a vector (K). b: (..., K, N), or a vector (K). Leading axes broadcast. Any dtypes; half types are
/// summed in float32, integers wrap around. Returns y: (..., M, N), without the axis of an operand that is a vector.
/// Throws TypeError when the inner sizes differ or the leading axes do not broadcast. Differentiable to any order.
/// chainer.functions.matmul.
KUSARI_API Variable matmul(const Variable& a, const Variable& b, const MatmulOptions& options = {});

}  // namespace kusari::functions
