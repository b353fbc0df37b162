#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/training/charts/line_chart.h"
#include "kusari/framework/training/extensions/log_report.h"

namespace kusari::training::html {

using Log = std::vector<extensions::LogEntry>;

/// Whether a value is better when it is lower (-1) or higher (1), by its name; 0 where that is not known.
KUSARI_API int better_direction(const std::string& key);

/// The rows of a log by columns: a view, which lives no longer than the log.
class KUSARI_API LogTable {
 public:
  using Column = std::vector<const extensions::LogNumber*>;  // null where a row has no such value

  explicit LogTable(const Log& log);

  size_t rows() const noexcept { return rows_; }
  /// Names of all values: epoch and iteration first, times last, the others as they appeared.
  const std::vector<std::string>& names() const noexcept { return names_; }
  /// That of names()[i].
  const Column& column(size_t i) const noexcept { return columns_[i]; }
  /// Null when there is none.
  const Column* find(const std::string& name) const noexcept;
  /// The row with the best value of a column, the first of equals; rows() when there is none.
  size_t best_row(const std::string& name) const;

 private:
  size_t rows_;
  std::vector<std::string> names_;
  std::vector<Column> columns_;
  std::unordered_map<std::string, size_t> places_;
};

/// "epoch" if each row is of another epoch, else "iteration".
KUSARI_API std::string x_axis(const LogTable& log);

/// A chart for each quantity: "validation/main/loss" belongs to "main/loss", "l1/W/data/percentile/3" to
/// "l1/W/data/percentile".
KUSARI_API std::vector<charts::LineChart> log_charts(const LogTable& log, const std::string& x_key);

/// Six digits, as tables show them.
KUSARI_API std::string short_number(const extensions::LogNumber& number);
/// "12.4 s", "3 min 12 s", "5 h 03 min", "2 days 4 h".
KUSARI_API std::string short_duration(double seconds);

}  // namespace kusari::training::html
