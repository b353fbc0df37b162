#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "kusari/framework/autograd/variable.h"

// Recurrent networks of several layers over ragged sequences, as compositions of differentiable functions, for
// n_step_lstm.cc, n_step_gru.cc and n_step_rnn.cc.
namespace kusari::functions::n_step {

/// The arguments that the functions share, and what they are made of.
struct Network {
  const char* call;  ///< "F::n_step_lstm"
  const char* name;  ///< "n_step_lstm"
  int64_t n_layers;
  int64_t directions;  ///< 1 or 2
  int64_t gates;       ///< weights for x, and as many for h
  bool has_cells;      ///< whether there is a c beside h
  double dropout_ratio;
};

/// One layer in one direction: the weights of its gates, put together.
struct Cell {
  Variable wx, bx;  ///< (gates H, I), (gates H)
  Variable wh, bh;  ///< (gates H, H), (gates H)
};

/// The next h and c from the products of x and h with their weights, (B, gates H) each, and the last h and c, (B, H). c
/// is undefined in cells without.
struct State {
  Variable h, c;
};
using Step = std::function<State(const Variable& from_x, const Variable& from_h, const State& last)>;

struct Result {
  Variable hy, cy;
  std::vector<Variable> ys;
};

/// hx, cx: (n_layers * directions, B, H); cx undefined in networks without. ws, bs: one list of 2 * gates variables for
/// each layer and direction. xs: one variable (B_t, I) for each time. Throws ValueError and TypeError naming the call
/// for numbers and shapes that do not fit.
Result run(const Network& network, const Variable& hx, const Variable& cx, std::span<const std::vector<Variable>> ws,
           std::span<const std::vector<Variable>> bs, std::span<const Variable> xs, const Step& step);

}  // namespace kusari::functions::n_step
