#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/optimizers/optimizer.h"
#include "kusari/updaters/updater.h"

namespace kusari::testing {

/// An updater that only counts: `iterations_per_epoch` steps are a sweep.
struct FakeUpdater : updaters::Updater {
  explicit FakeUpdater(double per_epoch = 4) : iterations_per_epoch{per_epoch} {}

  void update() override {
    previous = epoch_detail();
    ++count;
    if (on_update) on_update();
  }
  int64_t iteration() const override { return count; }
  int64_t epoch() const override { return static_cast<int64_t>(std::floor(epoch_detail())); }
  double epoch_detail() const override { return detail ? *detail : static_cast<double>(count) / iterations_per_epoch; }
  std::optional<double> previous_epoch_detail() const override { return previous; }
  updaters::StepTimes step_times() const override { return times; }
  bool is_new_epoch() const override { return previous && std::floor(*previous) != std::floor(epoch_detail()); }
  Optimizer& get_optimizer(const std::string& name) override {
    if (optimizer == nullptr) throw KeyError("no optimizer " + name);
    return *optimizer;
  }
  std::vector<std::pair<std::string, Optimizer*>> get_all_optimizers() override { return {}; }
  void finalize() override { ++finalized; }
  void serialize(Serializer& serializer) override {
    serializer("iteration", count);
    if (on_serialize) on_serialize(serializer);
  }

  double iterations_per_epoch;
  int64_t count = 0;
  std::optional<double> detail, previous;
  updaters::StepTimes times;
  std::function<void()> on_update;
  std::function<void(Serializer&)> on_serialize;
  Optimizer* optimizer = nullptr;
  int finalized = 0;
};

}  // namespace kusari::testing
