#pragma once

#include <cstdint>

#include "kusari/framework/core/host_in.h"

// One layer of a recurrent network in one direction, over all times of a batch of ragged sequences.
//
// Packed data are the rows of all times one after another, S in all: batch_sizes[t] rows at time t, never more than at
// the time before, so that sequence b is row b of each of its times. A state that has no row at a time stays as it is.
namespace kusari::kernels {

/// What a unit does, and the order of its gates (Chainer's and cuDNN's).
enum class RecurrentCell : uint8_t {
  tanh,  ///< h' = tanh(x + u), u = W h + b
  relu,  ///< h' = max(0, x + u)
  lstm,  ///< i, f, a, o: c' = sigmoid(f) c + sigmoid(i) tanh(a), h' = sigmoid(o) tanh(c'), each of x + u
  gru,   ///< r, z, g: h' = (1 - z) n + z h, n = tanh(x_g + r u_g)
};

/// Gates of a cell: as many blocks of H there are in what x and h contribute.
constexpr int64_t gates_of(RecurrentCell cell) {
  return cell == RecurrentCell::lstm ? 4 : cell == RecurrentCell::gru ? 3 : 1;
}
/// Blocks of H that a cell's forward computation leaves to its gradient: the gates, and for gru u_g too.
constexpr int64_t saved_gates_of(RecurrentCell cell) {
  return cell == RecurrentCell::lstm || cell == RecurrentCell::gru ? 4 : 0;
}

struct RecurrentLayer {
  RecurrentCell cell;
  bool reversed;  ///< from the last time to the first
};

/// batch_sizes: (T), int64. x: (S, G H), what the inputs contribute to the G gates. h, c: (B, H), the
/// first state; c undefined but for lstm. w: (G H, H), b: (G H). y: (S, H). last_h, last_c: (B, H). saved: (S,
/// saved_gates H), cells: (S, H) for lstm, before: (S, H), what each row's h was before: for RecurrentGradient, and
/// undefined when nobody will ask for that. One floating dtype, C-ordered; half types are computed in float32. Each
/// sum runs over k in order: the same bits whatever the number of threads. Numbers that are too small to be normal
/// may be zeros.
struct RecurrentForward {
  static constexpr const char* kName = "recurrent_forward";
  using Signature = void(Params<RecurrentLayer> layer, HostIn batch_sizes, In x, In h, In c, In w, In b, Out y,
                         Out last_h, Out last_c, Out saved, Out cells, Out before);
};

/// Gradients of the same by x, h and c, and by u (gu; undefined where it is gx: but for gru). gy, glast_h, glast_c:
/// gradients of the results, undefined for none. c, w, y, saved, cells, before: what the forward computation had and
/// gave. The gradients of w and b are gu^T before and the sums of gu's rows.
struct RecurrentGradient {
  static constexpr const char* kName = "recurrent_gradient";
  using Signature = void(Params<RecurrentLayer> layer, HostIn batch_sizes, In c, In w, In y, In saved, In cells,
                         In before, In gy, In glast_h, In glast_c, Out gx, Out gu, Out gh, Out gc);
};

}  // namespace kusari::kernels
