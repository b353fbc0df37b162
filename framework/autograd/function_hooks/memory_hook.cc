#include "kusari/framework/autograd/function_hooks/memory_hook.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <iterator>

#include "kusari/framework/autograd/function_hooks/hook_support.h"
#include "kusari/framework/core/backend.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/text_table.h"

namespace kusari::function_hooks {
namespace {

constexpr const char* kUnits[] = {"B", "KB", "MB", "GB", "TB"};
constexpr double kStep = 1024;

size_t suitable_unit(double bytes) {
  size_t unit = 0;
  for (double size = std::abs(bytes); size >= kStep && unit + 1 < std::size(kUnits); size /= kStep) ++unit;
  return unit;
}

std::string in_unit(double bytes, size_t unit) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.2f%s", bytes / std::pow(kStep, static_cast<double>(unit)), kUnits[unit]);
  return text;
}

}  // namespace

void MemoryHook::begin(const FunctionNode& function, const Device* device) {
  if (device == nullptr) return;
  const memory::Statistics now = device->backend().memory_statistics(device->index());
  for (Running& outer : running_) outer.peak = std::max(outer.peak, now.max_allocated);
  device->backend().reset_max_allocated(device->index());
  running_.push_back({&function, now, now.allocated});
}

void MemoryHook::end(const FunctionNode& function, const Device* device) {
  if (device == nullptr) return;
  const memory::Statistics now = device->backend().memory_statistics(device->index());
  for (Running& running : running_) running.peak = std::max(running.peak, now.max_allocated);
  device->backend().reset_max_allocated(device->index());
  // Above this function's entry lie those of functions that an exception ended.
  while (!running_.empty() && running_.back().function != &function) running_.pop_back();
  if (running_.empty()) return;
  const Running ended = running_.back();
  running_.pop_back();
  history_.push_back({function.name(), ended.peak - ended.start.allocated, now.reserved - ended.start.reserved,
                      static_cast<int>(running_.size())});
}

void MemoryHook::forward_preprocess(const FunctionNode& function, const ArrayRefs& in) {
  begin(function, device_of(in));
}
void MemoryHook::forward_postprocess(const FunctionNode& function, const ArrayRefs& in, const Arrays&) {
  end(function, device_of(in));
}
void MemoryHook::backward_preprocess(const FunctionNode& function, const Variables& gy) {
  begin(function, device_of(gy));
}
void MemoryHook::backward_postprocess(const FunctionNode& function, const Variables& gy, const Variables&) {
  end(function, device_of(gy));
}

int64_t MemoryHook::total_used_bytes() const noexcept {
  int64_t total = 0;
  for (const Call& call : history_) total += call.depth == 0 ? call.used_bytes : 0;
  return total;
}

int64_t MemoryHook::total_acquired_bytes() const noexcept {
  int64_t total = 0;
  for (const Call& call : history_) total += call.depth == 0 ? call.acquired_bytes : 0;
  return total;
}

std::vector<MemoryHook::Record> MemoryHook::summary() const {
  std::vector<Record> records;
  for (const Call& call : history_) {
    auto record = std::find_if(records.begin(), records.end(), [&](const Record& r) { return r.name == call.name; });
    if (record == records.end()) record = records.insert(records.end(), Record{call.name});
    record->used_bytes += call.used_bytes;
    record->acquired_bytes += call.acquired_bytes;
    ++record->occurrence;
  }
  return records;
}

std::string MemoryHook::report(const std::string& unit) const {
  const bool for_each = unit == "auto_foreach";
  const std::vector<Record> records = summary();
  size_t index = 0;
  if (unit == "auto") {
    int64_t largest = 0;
    for (const Record& r : records) largest = std::max({largest, r.used_bytes, r.acquired_bytes});
    index = suitable_unit(static_cast<double>(largest));
  } else if (!for_each) {
    const auto* const found = std::find(std::begin(kUnits), std::end(kUnits), unit);
    if (found == std::end(kUnits)) {
      throw ValueError("MemoryHook::report: unit is '" + unit +
                       "': it must be auto, auto_foreach, B, KB, MB, GB or TB");
    }
    index = static_cast<size_t>(found - std::begin(kUnits));
  }
  const auto text = [&](int64_t bytes) {
    const auto size = static_cast<double>(bytes);
    return in_unit(size, for_each ? suitable_unit(size) : index);
  };
  std::vector<std::vector<std::string>> rows{{"FunctionName", "UsedBytes", "AcquiredBytes", "Occurrence"}};
  for (const Record& r : records) {
    rows.push_back({r.name, text(r.used_bytes), text(r.acquired_bytes), std::to_string(r.occurrence)});
  }
  return right_aligned_table(rows);
}

void MemoryHook::print_report(const std::string& unit) const { print_report(std::cout, unit); }
void MemoryHook::print_report(std::ostream& out, const std::string& unit) const { out << report(unit) << std::flush; }

}  // namespace kusari::function_hooks
