#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <utility>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/distributed/communicator.h"
#include "kusari/framework/distributed/links/multi_node_stage.h"
#include "kusari/framework/links/chain_list.h"

namespace kusari::distributed {

/// This rank's components of a model that is spread over several ranks. A call runs them in the order in which they
/// were added: each takes the model's inputs, or what other ranks send to this one, and gives the model's output, or
/// sends what it gives to other ranks. Backward goes through them in the reverse order, whatever connects them.
///
///   distributed::MultiNodeChainList model(comm);                                   // rank 0
///   model.add_link(First(), {.rank_out = 1});
///   model.add_link(Third(), {.rank_in = 1});
///   distributed::MultiNodeChainList model(comm);                                   // rank 1
///   model.add_link(Second(), {.rank_in = 0, .rank_out = 0});
///
/// A call gives the output of the one component without rank_out; where there is none, a delegate variable, from which
/// this rank has to go backward all the same: `optimizer.update([&] { return model(); })`. A rank in rank_in or
/// rank_out may be this one: what was sent first is taken first. Calls throw ValueError when what was sent to this rank
/// itself is not taken, or is not there. Differentiable to the order of its links. chainermn.MultiNodeChainList.
class KUSARI_API MultiNodeChainList : public ChainList<MultiNodeStage> {
 public:
  explicit MultiNodeChainList(const Communicator& comm) : comm_{comm} {}

  /// Adds a component: a link that takes up to 8 variables, those of all ranks in rank_in one after the other, and
  /// gives a Variable, or Variables to send as one message. Throws ValueError for a rank that is not there, and for a
  /// second component without rank_out.
  template <LinkType T>
  void add_link(T link, MultiNodeLinkOptions options = {}) {
    expect_fit(options);
    append(MultiNodeStage(std::move(link), std::move(options)));
  }

  template <std::same_as<Variable>... Inputs>
  Variable operator()(const Inputs&... inputs) const {
    const std::array<Variable, sizeof...(Inputs)> all{inputs...};
    return single(call(all));
  }
  /// The same with any number of inputs, and of outputs.
  Variables call(std::span<const Variable> inputs) const;

  const Communicator& communicator() const noexcept { return comm_; }

 private:
  void expect_fit(const MultiNodeLinkOptions& options) const;
  static Variable single(const Variables& outputs);

  Communicator comm_;
};

}  // namespace kusari::distributed
