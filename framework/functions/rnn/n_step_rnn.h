#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/rnn/n_step_gru.h"
#include "kusari/framework/functions/rnn/packed_sequence.h"

namespace kusari::functions {

/// What n_step_rnn's units apply.
enum class RnnActivation : uint8_t { tanh, relu };

/// Layers of simple recurrent units over sequences: h' = activation((W x + b) + (W' h + b')).
/// n_layers: at least 1. dropout_ratio: in [0, 1), of what layers above the first read, when config.train; each
/// direction draws a mask of its own. hx: (n_layers, B, H), floating. ws, bs: for each layer (and in it for each
/// direction) 2 matrices and as many vectors (H): for x, then for h; the first layer's matrices for x are (H, I), those
/// of other layers (H, H), those for h (H, H). xs: for each time a batch (B_t, I) whose B_t never rises: sequences
/// sorted by falling length; a sequence that has ended keeps its last h. Returns hy: (n_layers, B, H), ys: one (B_t, H)
/// for each time. Throws TypeError when shapes or dtypes do not fit, ValueError for numbers. Differentiable to any
/// order. Elman 1990; chainer.functions.n_step_rnn.
KUSARI_API NStepOutput n_step_rnn(int64_t n_layers, double dropout_ratio, const Variable& hx,
                                  std::span<const std::vector<Variable>> ws, std::span<const std::vector<Variable>> bs,
                                  std::span<const Variable> xs, RnnActivation activation = RnnActivation::tanh);

/// The same in both directions, as n_step_bilstm. chainer.functions.n_step_birnn.
KUSARI_API NStepOutput n_step_birnn(int64_t n_layers, double dropout_ratio, const Variable& hx,
                                    std::span<const std::vector<Variable>> ws,
                                    std::span<const std::vector<Variable>> bs, std::span<const Variable> xs,
                                    RnnActivation activation = RnnActivation::tanh);

/// The same for packed sequences. hx, hy: in the user's order; hx undefined for zeros.
KUSARI_API PackedOutput n_step_rnn(int64_t n_layers, double dropout_ratio, const Variable& hx,
                                   std::span<const std::vector<Variable>> ws, std::span<const std::vector<Variable>> bs,
                                   const PackedSequence& xs, RnnActivation activation = RnnActivation::tanh);
KUSARI_API PackedOutput n_step_birnn(int64_t n_layers, double dropout_ratio, const Variable& hx,
                                     std::span<const std::vector<Variable>> ws,
                                     std::span<const std::vector<Variable>> bs, const PackedSequence& xs,
                                     RnnActivation activation = RnnActivation::tanh);

}  // namespace kusari::functions
