#include "kusari/framework/core/time_records.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace kusari {
namespace {

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

std::vector<TimeRecord> summarize_times(const TimeHistory& history) {
  std::vector<TimeRecord> records;
  for (const auto& [name, seconds] : history) {
    auto record =
        std::find_if(records.begin(), records.end(), [&n = name](const TimeRecord& r) { return r.name == n; });
    if (record == records.end()) record = records.insert(records.end(), TimeRecord{name});
    record->elapsed_time += seconds;
    ++record->occurrence;
  }
  return records;
}

std::string time_table(const std::string& name_column, const std::vector<TimeRecord>& records) {
  std::vector<std::array<std::string, 3>> rows{{name_column, "ElapsedTime", "Occurrence"}};
  for (const TimeRecord& r : records) {
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

}  // namespace kusari
