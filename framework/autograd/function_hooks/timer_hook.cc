#include "kusari/framework/autograd/function_hooks/timer_hook.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>

namespace kusari::function_hooks {
namespace {

const Device* device_of(const ArrayRefs& arrays) {
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i].is_defined()) return &arrays[i].device();
  }
  return nullptr;
}

const Device* device_of(const Variables& variables) {
  for (const Variable& v : variables) {
    if (v.is_defined()) return &v.device();
  }
  return nullptr;
}

std::string humanized(double seconds) {
  char text[32];
  for (const char* unit : {"sec", "ms", "us"}) {
    if (seconds >= 1) {
      std::snprintf(text, sizeof(text), "%.2f%s", seconds, unit);
      return text;
    }
    seconds *= 1000;
  }
  std::snprintf(text, sizeof(text), "%.2fns", seconds);
  return text;
}

}  // namespace

void TimerHook::begin(const FunctionNode& function, const Device* device) {
  if (device != nullptr) synchronize(*device);
  running_.push_back({&function, Clock::now()});
}

void TimerHook::end(const FunctionNode& function, const Device* device) {
  if (device != nullptr) synchronize(*device);
  const Clock::time_point now = Clock::now();
  // Above this function's entry lie those of functions that an exception ended.
  while (!running_.empty() && running_.back().function != &function) running_.pop_back();
  if (running_.empty()) return;
  history_.emplace_back(function.name(), std::chrono::duration<double>(now - running_.back().start).count());
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

std::vector<TimerHook::Record> TimerHook::summary() const {
  std::vector<Record> records;
  for (const auto& [name, seconds] : history_) {
    auto record = std::find_if(records.begin(), records.end(), [&n = name](const Record& r) { return r.name == n; });
    if (record == records.end()) record = records.insert(records.end(), Record{name});
    record->elapsed_time += seconds;
    ++record->occurrence;
  }
  return records;
}

std::string TimerHook::report() const {
  std::vector<std::array<std::string, 3>> rows{{"FunctionName", "ElapsedTime", "Occurrence"}};
  for (const Record& r : summary()) {
    rows.push_back({r.name, humanized(r.elapsed_time), std::to_string(r.occurrence)});
  }
  std::array<size_t, 3> widths{};
  for (const auto& row : rows) {
    for (size_t i = 0; i < 3; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    for (size_t i = 0; i < 3; ++i) {
      text += (i == 0 ? "" : "  ") + std::string(widths[i] - row[i].size(), ' ') + row[i];
    }
    text += '\n';
  }
  return text;
}

void TimerHook::print_report() const { print_report(std::cout); }
void TimerHook::print_report(std::ostream& out) const { out << report() << std::flush; }

}  // namespace kusari::function_hooks
