#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/rnn/packed_sequence.h"

namespace kusari::functions {

/// `auto [hy, ys] = F::n_step_gru(...)`.
struct NStepOutput {
  Variable hy;               ///< (layers * directions, B, H): the last h of each sequence
  std::vector<Variable> ys;  ///< the last layer's h at each time
};

/// The same for packed sequences.
struct PackedOutput {
  Variable hy;  ///< (layers * directions, B, H), in the user's order
  PackedSequence ys;
};

/// Layers of gated recurrent units over sequences: r, z = sigmoid((W x + b) + (W' h + b')), g = tanh((W x + b) + r (W'
/// h + b')), h' = (1 - z) g + z h. L::GRU and its relatives reset before the product, and have the opposite z.
/// n_layers: at least 1. dropout_ratio: in [0, 1), of what layers above the first read, when config.train; each
/// direction draws a mask of its own. hx: (n_layers, B, H), floating. ws, bs: for each layer (and in it for each
/// direction) 6 matrices and as many vectors (H): for x those of r, z and g, then for h the same; the first layer's
/// matrices for x are (H, I), those of other layers (H, H), those for h (H, H). xs: for each time a batch (B_t, I)
/// whose B_t never rises: sequences sorted by falling length; a sequence that has ended keeps its last h. Returns hy:
/// (n_layers, B, H), ys: one (B_t, H) for each time. Throws TypeError when shapes or dtypes do not fit, ValueError for
/// numbers. Differentiable to any order. Cho et al. 2014; chainer.functions.n_step_gru.
KUSARI_API NStepOutput n_step_gru(int64_t n_layers, double dropout_ratio, const Variable& hx,
                                  std::span<const std::vector<Variable>> ws, std::span<const std::vector<Variable>> bs,
                                  std::span<const Variable> xs);

/// The same in both directions, as n_step_bilstm. chainer.functions.n_step_bigru.
KUSARI_API NStepOutput n_step_bigru(int64_t n_layers, double dropout_ratio, const Variable& hx,
                                    std::span<const std::vector<Variable>> ws,
                                    std::span<const std::vector<Variable>> bs, std::span<const Variable> xs);

/// The same for packed sequences. hx, hy: in the user's order; hx undefined for zeros.
KUSARI_API PackedOutput n_step_gru(int64_t n_layers, double dropout_ratio, const Variable& hx,
                                   std::span<const std::vector<Variable>> ws, std::span<const std::vector<Variable>> bs,
                                   const PackedSequence& xs);
KUSARI_API PackedOutput n_step_bigru(int64_t n_layers, double dropout_ratio, const Variable& hx,
                                     std::span<const std::vector<Variable>> ws,
                                     std::span<const std::vector<Variable>> bs, const PackedSequence& xs);

}  // namespace kusari::functions
