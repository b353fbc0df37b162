#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/training/charts/line_chart.h"
#include "kusari/framework/training/extensions/log_report.h"

namespace kusari::training::report {

using Log = std::vector<extensions::LogEntry>;

/// Names of all values of the log: epoch and iteration first, times last, the others as they appeared.
KUSARI_API std::vector<std::string> columns(const Log& log);

/// Whether a value is better when it is lower (-1) or higher (1), by its name; 0 where that is not known.
KUSARI_API int better_direction(const std::string& key);

/// The row with the best value of a column, the first of equals; the log's size when there is none.
KUSARI_API size_t best_row(const Log& log, const std::string& key);

/// "epoch" if each row is of another epoch, else "iteration".
KUSARI_API std::string x_axis(const Log& log);

/// A chart for each quantity: "validation/main/loss" belongs to "main/loss", "l1/W/data/percentile/3" to
/// "l1/W/data/percentile".
KUSARI_API std::vector<charts::LineChart> log_charts(const Log& log, const std::string& x_key);

/// Six digits, as tables show them.
KUSARI_API std::string short_number(const extensions::LogNumber& number);
/// "12.4 s", "3 min 12 s", "5 h 03 min", "2 days 4 h".
KUSARI_API std::string short_duration(double seconds);
/// With commas between groups of three digits.
KUSARI_API std::string grouped(int64_t number);

}  // namespace kusari::training::report
