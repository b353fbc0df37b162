#include "kusari/framework/training/extensions/warmup_shift.h"

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"

namespace kusari::training::extensions {

// What the base calls the initial value is where the line starts.
WarmupShift::WarmupShift(std::string attr, std::optional<double> warmup_start, int64_t warmup_iter, double init,
                         std::optional<Ref<Optimizer>> optimizer)
    : HyperparameterShift("WarmupShift", std::move(attr),
                          {.init = warmup_start, .target = std::nullopt, .optimizer = std::move(optimizer)}),
      warmup_iter_{warmup_iter},
      init_{argument::finite("WarmupShift", "init", init)} {
  if (warmup_iter < 1) {
    throw ValueError("WarmupShift: warmup_iter is " + std::to_string(warmup_iter) + ": it must be positive");
  }
}

std::optional<double> WarmupShift::value(int64_t t, double start) const {
  if (t > warmup_iter_) return std::nullopt;
  const double done = static_cast<double>(t), left = static_cast<double>(warmup_iter_ - t);
  return (done * init_ + left * start) / static_cast<double>(warmup_iter_);
}

}  // namespace kusari::training::extensions
