#pragma once

#include <string>

#include "kusari/framework/core/export.h"
#include "kusari/framework/distributed/communicator.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/training/extension.h"

namespace kusari::distributed {

/// Merges the running statistics of all ranks: each floating persistent array of the model becomes its mean over the
/// ranks, and the running variance of a normalization the variance of what all ranks saw together: the mean of their
/// variances and the variance of their means. (In Chainer the latter is lost.) Integers are left alone. Before a model
/// is evaluated or saved, once an epoch unless told otherwise; not needed where batch normalizations are synchronized.
/// Collective; the results are the same bits on all ranks. Throws StateError where the ranks' models differ.
/// chainermn.extensions.AllreducePersistent.
class KUSARI_API AllreducePersistent final : public training::Extension {
 public:
  /// The model may be moved.
  AllreducePersistent(Link& model, const Communicator& comm) : home_{model.home()}, comm_{comm} {}

  void operator()(training::Trainer& trainer) override;
  /// The same without a trainer.
  void operator()();
  std::string default_name() const override { return "AllreducePersistent"; }
  training::TriggerRef default_trigger() const override { return {1, "epoch"}; }
  /// Before evaluators.
  int default_priority() const override { return training::kPriorityWriter + 1; }

 private:
  IntrusivePtr<Home> home_;
  Communicator comm_;
};

}  // namespace kusari::distributed
