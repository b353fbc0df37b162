#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"

namespace kusari {

/// What hooks measured under one name.
struct TimeRecord {
  std::string name;
  double elapsed_time = 0;  ///< in seconds
  int64_t occurrence = 0;
};

/// Names and seconds.
using TimeHistory = std::vector<std::pair<std::string, double>>;

/// One record per name, in the order in which the names first appear.
KUSARI_API std::vector<TimeRecord> summarize_times(const TimeHistory& history);
/// A table with the columns `name_column`, ElapsedTime and Occurrence, each time in a unit that suits it.
KUSARI_API std::string time_table(const std::string& name_column, const std::vector<TimeRecord>& records);

}  // namespace kusari
