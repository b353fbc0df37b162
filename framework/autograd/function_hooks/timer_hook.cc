#include "kusari/framework/autograd/function_hooks/timer_hook.h"

#include <iostream>

#include "kusari/framework/autograd/function_hooks/hook_support.h"
#include "kusari/framework/core/seconds.h"

namespace kusari::function_hooks {
void TimerHook::begin(const FunctionNode& function, const Device* device) {
  if (device != nullptr) synchronize(*device);
  running_.push_back({&function, steady_seconds()});
}

void TimerHook::end(const FunctionNode& function, const Device* device) {
  if (device != nullptr) synchronize(*device);
  const double now = steady_seconds();
  // Above this function's entry lie those of functions that an exception ended.
  while (!running_.empty() && running_.back().function != &function) running_.pop_back();
  if (running_.empty()) return;
  history_.emplace_back(function.name(), now - running_.back().start);
  running_.pop_back();
}

void TimerHook::forward_preprocess(const FunctionNode& function, const ArrayRefs& in) {
  begin(function, device_of(in));
}
void TimerHook::forward_postprocess(const FunctionNode& function, const ArrayRefs& in, const Arrays&) {
  end(function, device_of(in));
}
void TimerHook::backward_preprocess(const FunctionNode& function, const Variables& gy) {
  begin(function, device_of(gy));
}
void TimerHook::backward_postprocess(const FunctionNode& function, const Variables& gy, const Variables&) {
  end(function, device_of(gy));
}

double TimerHook::total_time() const noexcept {
  double total = 0;
  for (const auto& [name, seconds] : history_) total += seconds;
  return total;
}

std::vector<TimeRecord> TimerHook::summary() const { return summarize_times(history_); }

std::string TimerHook::report() const { return time_table("FunctionName", summary()); }

void TimerHook::print_report() const { print_report(std::cout); }
void TimerHook::print_report(std::ostream& out) const { out << report() << std::flush; }

}  // namespace kusari::function_hooks
