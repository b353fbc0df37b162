#pragma once

#include <cstdint>
#include <span>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/kernels/recurrent.h"

namespace kusari::functions {

struct RecurrentOutput {
  Variable y;       ///< (S, H), packed
  Variable hy, cy;  ///< (B, H); cy undefined but for lstm
};

/// One layer of a recurrent network in one direction over packed rows (kernels/recurrent.h), differentiable to any
/// order. x: (S, G H), what the inputs contribute to the gates. h, c: (B, H). w: (G H, H), b: (G H). One floating
/// dtype; the caller has checked shapes.
KUSARI_API RecurrentOutput recurrent_layer(const kernels::RecurrentLayer& layer, std::span<const int64_t> batch_sizes,
                                           const Variable& x, const Variable& h, const Variable& c, const Variable& w,
                                           const Variable& b);

/// The same as a composition of differentiable functions: for gradients of gradients, and to test the kernel.
KUSARI_API RecurrentOutput recurrent_steps(const kernels::RecurrentLayer& layer, std::span<const int64_t> batch_sizes,
                                           const Variable& x, const Variable& h, const Variable& c, const Variable& w,
                                           const Variable& b);

}  // namespace kusari::functions
