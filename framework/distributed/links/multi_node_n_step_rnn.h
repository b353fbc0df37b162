#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/distributed/communicator.h"
#include "kusari/framework/distributed/functions/pseudo_connect.h"
#include "kusari/framework/distributed/functions/recv.h"
#include "kusari/framework/distributed/functions/send.h"
#include "kusari/framework/links/link.h"

namespace kusari::distributed {

/// From where a recurrent link gets its first states, and where its last ones go.
struct MultiNodeNStepRnnOptions {
  std::optional<int> rank_in = std::nullopt;   ///< none: the first states are zeros
  std::optional<int> rank_out = std::nullopt;  ///< none: the last states stay here
};

/// What a recurrent link gives, and the delegate variable of the states that were sent (see functions::send): undefined
/// where none were. Backward has to reach it: `loss + result.delegate_variable`, or from it alone.
template <class Output>
struct MultiNodeRnnOutput : Output {
  Variable delegate_variable;
};

/// A recurrent link over sequences (L::NStepLSTM and its like) whose first states come from another rank, and whose
/// last ones go to another: an encoder and a decoder on two ranks. chainermn.links.create_multi_node_n_step_rnn.
template <LinkType Rnn>
class MultiNodeNStepRNN : public Chain {
 public:
  /// Ranks are checked by the calls.
  MultiNodeNStepRNN(Rnn link, const Communicator& communicator, const MultiNodeNStepRnnOptions& options = {})
      : actual_rnn{*this, "actual_rnn", std::move(link)}, comm_{communicator}, options_{options} {}

  /// xs: sequences as the link takes them, a span or a PackedSequence. Throws ValueError when the rank sends as many
  /// states as another link has, and what the link, send and recv throw.
  template <class Sequences>
  auto operator()(const Sequences& xs) const {
    Variables states;
    if (options_.rank_in) {
      states = functions::recv_all(comm_, *options_.rank_in, {.device = actual_rnn.device()});
    } else {
      states = Variables(Variable(), Variable());
    }
    constexpr bool has_cells = requires { actual_rnn(states[0], states[0], xs); };
    if (options_.rank_in) expect_states(states.size(), has_cells ? 2 : 1);
    if constexpr (has_cells) {
      auto output = actual_rnn(states[0], states[1], xs);
      const Variable sent = give({output.hy, output.cy});
      return MultiNodeRnnOutput<decltype(output)>{std::move(output), sent};
    } else {
      auto output = actual_rnn(states[0], xs);
      const Variable sent = give({output.hy});
      return MultiNodeRnnOutput<decltype(output)>{std::move(output), sent};
    }
  }
  auto operator()(std::initializer_list<Variable> xs) const {
    return (*this)(std::span<const Variable>(xs.begin(), xs.size()));
  }

  Child<Rnn> actual_rnn;

 private:
  void expect_states(size_t found, size_t wanted) const {
    if (found == wanted) return;
    throw ValueError("MultiNodeNStepRNN: rank " + std::to_string(*options_.rank_in) + " sent " + std::to_string(found) +
                     " states but the link has " + std::to_string(wanted));
  }
  Variable give(std::initializer_list<Variable> states) const {
    return options_.rank_out ? functions::send(states, comm_, *options_.rank_out) : Variable();
  }

  Communicator comm_;
  MultiNodeNStepRnnOptions options_;
};

/// MultiNodeNStepRNN. chainermn.links.create_multi_node_n_step_rnn.
template <LinkType Rnn>
MultiNodeNStepRNN<Rnn> create_multi_node_n_step_rnn(Rnn actual_link, const Communicator& communicator,
                                                    const MultiNodeNStepRnnOptions& options = {}) {
  return MultiNodeNStepRNN<Rnn>(std::move(actual_link), communicator, options);
}

}  // namespace kusari::distributed
