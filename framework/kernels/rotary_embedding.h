#pragma once

#include "kusari/framework/core/kernel.h"

namespace kusari::kernels {

struct RotaryForm {
  bool interleaved = false;  ///< pairs are neighbours, otherwise the halves of a row
  bool inverse = false;      ///< by the negative angle, which is the gradient
};

/// Turns pair i of row t by the angle of table's row t: (a, b) becomes (a cos - b sin, a sin + b cos). x, y: (..., T,
/// D) of one floating dtype, D even, of any strides, y's last axis contiguous. table: (T, 2, D / 2), the cosines and
/// the sines of each row; C-ordered, of the type of the arithmetic: float32, or float64 where x is.
struct RotaryEmbedding {
  static constexpr const char* kName = "rotary_embedding";
  using Signature = void(Params<RotaryForm> form, In x, In table, Out y);
};

}  // namespace kusari::kernels
