#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/ref.h"
#include "kusari/framework/core/summary.h"
#include "kusari/framework/training/extension.h"
#include "kusari/framework/training/unseen_keys.h"
#include "kusari/optimizers/optimizer.h"

namespace kusari::training::extensions {

/// Options of ReduceOnPlateau.
struct ReduceOnPlateauOptions {
  std::string monitor = "validation/main/loss";  ///< the reported value to watch
  double factor = 0.1;                           ///< by which the hyperparameter is multiplied, in (0, 1)
  int64_t patience = 10;                         ///< how many checks in a row without improvement are borne
  double threshold = 1e-4;                       ///< by which part of the best value it must become better
  int64_t cooldown = 0;                          ///< checks after a reduction that do not count
  double least = 0;                              ///< no value is set below it
  std::string mode = "auto";  ///< "max", "min", or "auto": max when the monitor's name contains "accuracy"
  TriggerRef check_trigger = {1, "epoch"};                 ///< when to compare
  std::optional<Ref<Optimizer>> optimizer = std::nullopt;  ///< the updater's "main" when not given
};

/// Makes a hyperparameter smaller when the mean of a reported value has not improved for some time:
/// `trainer.extend(ReduceOnPlateau("lr", {.factor = 0.5, .patience = 3}))`. Its state is part of snapshots, the
/// hyperparameter that of the optimizer's. A check before which the value was not reported does not count; when it
/// never is, there is one warning, with the names that may be meant. Throws ValueError for options out of range; the
/// optimizer KeyError for a hyperparameter that it does not have. torch.optim.lr_scheduler.ReduceLROnPlateau.
class KUSARI_API ReduceOnPlateau final : public Extension {
 public:
  using Options = ReduceOnPlateauOptions;
  explicit ReduceOnPlateau(std::string attr, ReduceOnPlateauOptions options = {});

  void operator()(Trainer& trainer) override;
  void initialize(Trainer& trainer) override;
  void finalize() override;
  void serialize(Serializer& serializer) override;
  std::string default_name() const override { return "ReduceOnPlateau"; }
  TriggerRef default_trigger() const override { return {1, "iteration"}; }

 private:
  bool is_better(double mean) const;

  std::string attr_;
  ReduceOnPlateauOptions options_;
  bool larger_is_better_;
  DictSummary summary_;
  std::optional<double> best_;
  int64_t waited_ = 0, cooldown_ = 0;
  UnseenKeys unseen_;
};

}  // namespace kusari::training::extensions
