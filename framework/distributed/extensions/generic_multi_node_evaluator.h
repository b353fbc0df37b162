#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/device.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/convert.h"
#include "kusari/framework/distributed/communicator.h"
#include "kusari/framework/links/call_model.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/training/extension.h"
#include "kusari/iterators/iterator.h"

namespace kusari::distributed {

/// Options of GenericMultiNodeEvaluator.
struct GenericMultiNodeEvaluatorOptions {
  std::optional<Device> device = std::nullopt;  ///< where batches go
  datasets::Converter converter = {};           ///< concat_examples when not given
  int root = 0;                                 ///< the rank that gets the results
  /// Called on the root with the number of results that have come so far.
  Callable<void(int64_t)> progress_hook = {};
};

/// An evaluation whose result is not a mean of the batches': each rank goes over its part of the data and calls
/// calc_local() with each batch, in test mode and without a graph, and the root calls aggregate() once with the results
/// of all batches of all ranks. The ranks' parts may have different numbers of batches. Once an epoch unless told
/// otherwise. Derive from it and override either method.
/// Throws ValueError for an iterator that repeats and for a root that is no rank.
/// chainermn.extensions.GenericMultiNodeEvaluator.
class KUSARI_API GenericMultiNodeEvaluator : public training::Extension {
 public:
  /// What calc_local gives for a batch: arrays of any dtypes and shapes.
  using Result = datasets::Example;

  /// The model may be moved, but must live when the evaluator runs.
  template <LinkType Model>
  GenericMultiNodeEvaluator(const Communicator& comm, iterators::IteratorRef iterator, Model& target,
                            GenericMultiNodeEvaluatorOptions options = {})
      : GenericMultiNodeEvaluator(comm, std::move(iterator), target, kusari::detail::model_caller<Model>(),
                                  std::move(options)) {}

  void operator()(training::Trainer& trainer) override;
  /// The same without a trainer.
  void operator()();
  void finalize() override { iterator_->finalize(); }
  std::string default_name() const override { return "validation"; }
  training::TriggerRef default_trigger() const override { return {1, "epoch"}; }
  int default_priority() const override { return training::kPriorityWriter; }

 protected:
  /// What the model gives for a batch. Throws TypeError for a model that cannot be called with variables.
  virtual Result calc_local(std::span<const Variable> inputs);
  /// On the root: batch 0 of each rank, in their order, then batch 1 of each that has one, and so on. Whatever it
  /// reports is reported on the root alone. Does nothing by default.
  virtual void aggregate(const std::vector<Result>& results);

  const Communicator& communicator() const noexcept { return comm_; }
  Link& target() const { return home_->get(); }

 private:
  GenericMultiNodeEvaluator(const Communicator& comm, iterators::IteratorRef iterator, Link& target,
                            kusari::detail::CallModel call, GenericMultiNodeEvaluatorOptions options);

  Communicator comm_;
  iterators::IteratorRef iterator_;
  IntrusivePtr<Home> home_;
  kusari::detail::CallModel call_;
  GenericMultiNodeEvaluatorOptions options_;
};

}  // namespace kusari::distributed
