#pragma once

#include <string>
#include <vector>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/reporter.h"
#include "kusari/framework/distributed/communicator.h"
#include "kusari/framework/training/extension.h"

namespace kusari::distributed {

/// Options of ObservationAggregator.
struct ObservationAggregatorOptions {
  training::TriggerRef comm_trigger = {1, "iteration"};  ///< when the ranks tell each other what they have observed
  /// What is made of the observations of each rank since the last time, in the order of the ranks, on rank 0; their
  /// mean, each observation counting the same, when not given.
  Callable<double(const std::vector<std::vector<double>>&)> aggregator = {};
};

/// Reports, whenever `comm_trigger` fires, one number made of what all ranks have reported under a key since the last
/// time; the same number on all ranks. Nothing is reported where no rank had observed anything.
/// `aggregated_key`: under which it is reported; the original key, whose value it replaces, when empty.
/// Throws ValueError for an empty key. chainermn.extensions.ObservationAggregator.
class KUSARI_API ObservationAggregator final : public training::Extension {
 public:
  ObservationAggregator(const Communicator& comm, std::string original_key, std::string aggregated_key = {},
                        ObservationAggregatorOptions options = {});

  void operator()(training::Trainer& trainer) override;
  std::string default_name() const override { return "ObservationAggregator"; }
  int default_priority() const override { return training::kPriorityEditor; }
  /// The state of the trigger, and what this rank has observed since it last fired.
  void serialize(Serializer& serializer) override;

 private:
  Communicator comm_;
  std::string original_key_, aggregated_key_;
  ObservationAggregatorOptions options_;
  std::vector<ObservedValue> history_;
};

}  // namespace kusari::distributed
