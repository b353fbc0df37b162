#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/functions/rnn/packed_sequence.h"
#include "kusari/framework/kernels/recurrent.h"

// Recurrent networks of several layers over ragged sequences, for n_step_lstm.cc, n_step_gru.cc and n_step_rnn.cc.
namespace kusari::functions::n_step {

using Weights = std::span<const std::vector<Variable>>;

/// What the functions differ in, and the arguments that they share.
struct Network {
  const char* call;  ///< "F::n_step_lstm"
  const char* name;  ///< "n_step_lstm"
  int64_t n_layers;
  int64_t directions;  ///< 1 or 2
  kernels::RecurrentCell cell;
  double dropout_ratio;
};

struct Result {
  Variable hy, cy;
  std::vector<Variable> ys;
};
struct PackedResult {
  Variable hy, cy;
  PackedSequence ys;
};

/// hx, cx: (n_layers * directions, B, H); cx undefined in networks without cells. ws, bs: one list of 2 * gates
/// variables for each layer and direction. xs: one variable (B_t, I) for each time. Throws ValueError and TypeError
/// naming the call for numbers and shapes that do not fit.
Result run(const Network& network, const Variable& hx, const Variable& cx, Weights ws, Weights bs,
           std::span<const Variable> xs);
/// The same for packed sequences; hx, cx, hy and cy are in the user's order, and undefined hx and cx are zeros.
PackedResult run(const Network& network, const Variable& hx, const Variable& cx, Weights ws, Weights bs,
                 const PackedSequence& xs);

}  // namespace kusari::functions::n_step
