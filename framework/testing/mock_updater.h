#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/updaters/updater.h"

namespace kusari::testing {

/// Counts iterations and epochs, and trains nothing.
class KUSARI_API MockUpdater final : public updaters::Updater {
 public:
  /// `update_core` is called in each step, if it is given. Throws ValueError unless iterations_per_epoch is positive.
  explicit MockUpdater(int64_t iterations_per_epoch = 10, Callable<void()> update_core = {});

  void update() override;
  int64_t iteration() const override { return iteration_; }
  int64_t epoch() const override { return iteration_ / iterations_per_epoch_; }
  double epoch_detail() const override;
  std::optional<double> previous_epoch_detail() const override;
  bool is_new_epoch() const override { return iteration_ > 0 && iteration_ % iterations_per_epoch_ == 0; }
  /// There is no optimizer: throws KeyError.
  Optimizer& get_optimizer(const std::string& name) override;
  std::vector<std::pair<std::string, Optimizer*>> get_all_optimizers() override { return {}; }
  void serialize(Serializer& serializer) override;

 private:
  int64_t iterations_per_epoch_;
  Callable<void()> update_core_;
  int64_t iteration_ = 0;
};

struct MockTrainerOptions {
  int64_t iterations_per_epoch = 10;
  std::string out = "result";
};

/// A trainer with a MockUpdater, for tests of extensions and triggers. chainer.testing.get_trainer_with_mock_updater.
KUSARI_API training::Trainer get_trainer_with_mock_updater(training::TriggerRef stop_trigger = {10, "iteration"},
                                                           const MockTrainerOptions& options = {});

}  // namespace kusari::testing
