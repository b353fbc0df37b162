#include "kusari/framework/distributed/links/multi_node_chain_list.h"

#include <deque>
#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/distributed/functions/pseudo_connect.h"
#include "kusari/framework/distributed/functions/recv.h"
#include "kusari/framework/distributed/functions/send.h"

namespace kusari::distributed {
namespace {

/// One call. `delegate` is what the next exchange has to be connected with, so that backward meets the exchanges in
/// their reverse order, as the other ranks do.
class StageCall {
 public:
  StageCall(const Communicator& comm, std::span<const Variable> inputs) : comm_{comm}, inputs_{inputs} {}

  void run(const MultiNodeStage& stage, bool is_first) {
    const MultiNodeLinkOptions& options = stage.options();
    Variables outputs;
    if (!options.rank_in.empty()) {
      outputs = stage.call(receive(options.rank_in, stage.link_device()));
    } else if (is_first || !delegate_.is_defined()) {
      outputs = stage.call(inputs_);
    } else if (inputs_.empty()) {
      outputs = functions::pseudo_connect(delegate_, stage.call(inputs_));
    } else {
      outputs = stage.call(functions::pseudo_connect(delegate_, inputs_));
    }
    if (outputs.empty()) throw ValueError("MultiNodeChainList: a link has given no variables");
    if (options.rank_out.empty()) {
      result_ = outputs;
      delegate_ = outputs[0];
      returns_last_ = true;
    } else {
      give(outputs, options.rank_out);
      returns_last_ = false;
    }
  }

  Variables finish() const {
    if (!to_self_.empty()) {
      throw ValueError("MultiNodeChainList: rank " + std::to_string(comm_.rank()) + " has sent itself " +
                       std::to_string(to_self_.size()) +
                       " messages more than it has taken: each rank_out that is this rank needs a later rank_in");
    }
    if (result_.empty()) return {delegate_};
    return returns_last_ ? result_ : functions::pseudo_connect(delegate_, result_);
  }

 private:
  Variables receive(const Ranks& ranks, const Device& device) {
    Variables inputs;
    for (const int rank : ranks) {
      const Variables message =
          rank == comm_.rank() ? take_own()
                               : functions::recv_all(comm_, rank, {.delegate_variable = delegate_, .device = device});
      for (const Variable& variable : message) inputs.push_back(variable);
      delegate_ = message[0];
    }
    delegate_ = Variable();  // the link depends on it
    return inputs;
  }

  Variables take_own() {
    if (to_self_.empty()) {
      throw ValueError("MultiNodeChainList: rank_in is " + std::to_string(comm_.rank()) +
                       ", this rank, but no component before has sent anything to it");
    }
    const Variables message = to_self_.front();
    to_self_.pop_front();
    return functions::pseudo_connect(delegate_, message);
  }

  void give(Variables outputs, const Ranks& ranks) {
    for (size_t i = 0; i < ranks.size(); ++i) {
      if (i > 0 || ranks[i] == comm_.rank()) outputs = functions::pseudo_connect(delegate_, outputs);
      if (ranks[i] == comm_.rank()) {
        to_self_.push_back(outputs);
        delegate_ = outputs[0];
      } else {
        delegate_ = functions::send(outputs, comm_, ranks[i]);
      }
    }
  }

  const Communicator& comm_;
  std::span<const Variable> inputs_;
  std::deque<Variables> to_self_;
  Variable delegate_;
  Variables result_;
  bool returns_last_ = false;
};

}  // namespace

void MultiNodeChainList::expect_fit(const MultiNodeLinkOptions& options) const {
  for (const auto& [name, ranks] : {std::pair{"rank_in", &options.rank_in}, std::pair{"rank_out", &options.rank_out}}) {
    for (const int rank : *ranks) {
      if (rank >= 0 && rank < comm_.size()) continue;
      throw ValueError("MultiNodeChainList::add_link: " + std::string(name) + " names rank " + std::to_string(rank) +
                       ": it must be in [0, " + std::to_string(comm_.size()) + "), the ranks of the communicator");
    }
  }
  if (!options.rank_out.empty()) return;
  for (const MultiNodeStage& stage : *this) {
    if (!stage.options().rank_out.empty()) continue;
    throw ValueError(
        "MultiNodeChainList::add_link: a component without rank_out is there already: only one may give "
        "the model's output");
  }
}

Variables MultiNodeChainList::call(std::span<const Variable> inputs) const {
  if (empty()) throw StateError("MultiNodeChainList: it has no components: add_link() adds them");
  StageCall call(comm_, inputs);
  bool is_first = true;
  for (const MultiNodeStage& stage : *this) {
    call.run(stage, is_first);
    is_first = false;
  }
  return call.finish();
}

Variable MultiNodeChainList::single(const Variables& outputs) {
  if (outputs.size() == 1) return outputs[0];
  throw ValueError("MultiNodeChainList: the component without rank_out gives " + std::to_string(outputs.size()) +
                   " variables: take them by call()");
}

}  // namespace kusari::distributed
