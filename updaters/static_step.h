#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/owned.h"
#include "kusari/framework/static_graph/static_graph.h"
#include "kusari/optimizers/optimizer.h"

namespace kusari::updaters {

/// An option of updaters: `.static_graph = true`, or the options that static_graph() takes.
class StaticGraphOption {
 public:
  StaticGraphOption(bool is_on = false) : is_on_{is_on} {}
  StaticGraphOption(StaticGraphOptions options) : is_on_{true}, options_{std::move(options)} {}

  explicit operator bool() const noexcept { return is_on_; }
  const StaticGraphOptions& options() const noexcept { return options_; }

 private:
  bool is_on_;
  StaticGraphOptions options_;
};

/// The steps of an optimizer as static graphs: a whole step is one recording where the optimizer allows it, otherwise
/// the forward and backward computations are one, and the update runs as it is.
class KUSARI_API StaticStep {
 public:
  using LossOf = Callable<Variable(Optimizer& optimizer, std::span<const Variable> inputs)>;
  /// `calls_others`: the loss function may call other links than the optimizer's target.
  StaticStep(StaticGraphOptions options, LossOf loss_of, bool calls_others);
  ~StaticStep();

  /// optimizer.update() with the loss for these inputs.
  void update(Optimizer& optimizer, std::span<const Variable> inputs);
  /// The loss, forward and backward being a static graph.
  Variable loss(Optimizer& optimizer, std::span<const Variable> inputs);

  /// Forgets all recordings: the next step is recorded again.
  void clear() noexcept;
  /// The recordings, as StaticGraph::summary().
  std::string summary() const;
  /// Steps that were replays as a whole.
  int64_t replays() const noexcept;

 private:
  struct Call;
  struct Impl;
  Owned<Impl> impl_;
};

}  // namespace kusari::updaters
