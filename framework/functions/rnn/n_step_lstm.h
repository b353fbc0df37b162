#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/rnn/packed_sequence.h"

namespace kusari::functions {

/// `auto [hy, cy, ys] = F::n_step_lstm(...)`.
struct NStepLstmOutput {
  Variable hy, cy;           ///< (layers * directions, B, H): the last h and c of each sequence
  std::vector<Variable> ys;  ///< the last layer's h at each time
};

/// The same for packed sequences.
struct PackedLstmOutput {
  Variable hy, cy;  ///< (layers * directions, B, H), in the user's order
  PackedSequence ys;
};

/// Layers of long short-term memory over sequences: c' = f c + i a, h' = o tanh(c'), with i, f, o = sigmoid and a =
/// tanh of (W x + b) + (W' h + b').
/// n_layers: at least 1. dropout_ratio: in [0, 1), of what layers above the first read, when config.train; each
/// direction draws a mask of its own. hx, cx: (n_layers, B, H), floating. ws, bs: for each layer (and in it for each
/// direction) 8 matrices and as many vectors (H): for x those of i, f, a and o, then for h the same; the first layer's
/// matrices for x are (H, I), those of other layers (H, H), those for h (H, H). xs: for each time a batch (B_t, I)
/// whose B_t never rises: sequences sorted by falling length; a sequence that has ended keeps its last h and c. Returns
/// hy and cy: (n_layers, B, H), ys: one (B_t, H) for each time. Throws TypeError when shapes or dtypes do not fit,
/// ValueError for numbers. Differentiable to any order. Chainer's text swaps a and o; its code has this order.
/// chainer.functions.n_step_lstm.
KUSARI_API NStepLstmOutput n_step_lstm(int64_t n_layers, double dropout_ratio, const Variable& hx, const Variable& cx,
                                       std::span<const std::vector<Variable>> ws,
                                       std::span<const std::vector<Variable>> bs, std::span<const Variable> xs);

/// The same in both directions: hx and cx are (2 n_layers, B, H), ws and bs have a list for each direction of each
/// layer, layers above the first read 2 H numbers, and ys are (B_t, 2 H), forward and then backward.
/// chainer.functions.n_step_bilstm.
KUSARI_API NStepLstmOutput n_step_bilstm(int64_t n_layers, double dropout_ratio, const Variable& hx, const Variable& cx,
                                         std::span<const std::vector<Variable>> ws,
                                         std::span<const std::vector<Variable>> bs, std::span<const Variable> xs);

/// The same for packed sequences. hx, cx, hy, cy: in the user's order; hx and cx undefined for zeros.
KUSARI_API PackedLstmOutput n_step_lstm(int64_t n_layers, double dropout_ratio, const Variable& hx, const Variable& cx,
                                        std::span<const std::vector<Variable>> ws,
                                        std::span<const std::vector<Variable>> bs, const PackedSequence& xs);
KUSARI_API PackedLstmOutput n_step_bilstm(int64_t n_layers, double dropout_ratio, const Variable& hx,
                                          const Variable& cx, std::span<const std::vector<Variable>> ws,
                                          std::span<const std::vector<Variable>> bs, const PackedSequence& xs);

}  // namespace kusari::functions
