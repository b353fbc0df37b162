#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/summary.h"
#include "kusari/framework/training/extension.h"
#include "kusari/updaters/updater.h"

namespace kusari::training::extensions {

/// A number of the log: epochs and iterations are written without a point.
struct LogNumber {
  template <class T>
  requires std::is_arithmetic_v<T> LogNumber(T number)
  noexcept : value{static_cast<double>(number)}, is_integer{std::is_integral_v<T>} {}

  double value;
  bool is_integer;
};

/// One row of the log: values under their names, in the order in which they were reported.
class KUSARI_API LogEntry {
 public:
  void set(const std::string& key, LogNumber value);
  /// Null when the row has no such value.
  const LogNumber* find(const std::string& key) const noexcept;
  /// Throws KeyError when the row has no such value.
  double at(const std::string& key) const;
  auto begin() const noexcept { return values_.begin(); }
  auto end() const noexcept { return values_.end(); }

 private:
  std::vector<std::pair<std::string, LogNumber>> values_;
};

struct LogReportOptions {
  std::vector<std::string> keys = {};          ///< what to log; everything when empty
  TriggerRef trigger = {1, "epoch"};           ///< when a row is written
  Callable<void(LogEntry&)> postprocess = {};  ///< may change a row
  /// The file in the trainer's output directory; "{epoch}" stands for a value of the row. Without a name, no file.
  std::optional<std::string> filename = "log";
};

/// Averages what is reported between the firings of a trigger, adds `epoch`, `iteration`, `elapsed_time` (seconds) and,
/// where the updater measures them, `data_time` and `compute_time` (seconds of an iteration, updaters::StepTimes; with
/// several processes `exchange_time` too), and writes all rows to a JSON file, which is replaced whole. It is synced to
/// the disk when training ends, and otherwise at most once a second: a power cut may cost what came since. Numbers that
/// are not finite are written as null. chainer.training.extensions.LogReport.
class KUSARI_API LogReport final : public Extension {
 public:
  explicit LogReport(LogReportOptions options = {});

  void operator()(Trainer& trainer) override;
  void finalize() override;
  std::string default_name() const override { return "LogReport"; }
  /// The rows written so far, those of the run that was resumed included.
  const std::vector<LogEntry>& log() const noexcept { return log_; }
  /// The last of them. Throws StateError when there is none, as after a training of no epochs.
  const LogEntry& last() const;
  void serialize(Serializer& serializer) override;

 private:
  void write_file(const std::string& directory);

  LogReportOptions options_;
  DictSummary summary_;
  updaters::StepTimes times_;  // as of the last row
  std::vector<LogEntry> log_;
  std::string text_;  // of the file, without brackets
  size_t rows_in_text_ = 0;
  double last_sync_ = 0;  // steady_seconds()
  std::string unsynced_;  // path of the file, if it was written without
};

}  // namespace kusari::training::extensions
