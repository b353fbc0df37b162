#include "kusari/framework/core/time_records.h"

#include <algorithm>
#include <cstdio>

#include "kusari/framework/core/text_table.h"

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
  std::vector<std::vector<std::string>> rows{{name_column, "ElapsedTime", "Occurrence"}};
  for (const TimeRecord& r : records) {
    rows.push_back({r.name, humanized(r.elapsed_time), std::to_string(r.occurrence)});
  }
  return right_aligned_table(rows);
}

}  // namespace kusari
