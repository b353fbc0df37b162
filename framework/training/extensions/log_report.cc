#include "kusari/framework/training/extensions/log_report.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <span>
#include <utility>

#include <nlohmann/json.hpp>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/atomic_file.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/python_repr.h"
#include "kusari/framework/core/seconds.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/training/extensions/replace_all.h"
#include "kusari/framework/training/trainer.h"

namespace kusari::training::extensions {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kSyncInterval = 1;  // seconds

/// As Python prints it; `other` for what is not finite.
std::string to_text(const LogNumber& number, const char* other) {
  if (number.is_integer) return std::to_string(static_cast<int64_t>(number.value));
  return std::isfinite(number.value) ? python_repr(number.value) : other;
}

/// Rows of a JSON list without its brackets, as json.dump of Python writes them: over several lines, indented by four
/// blanks, or on one.
std::string to_json(std::span<const LogEntry> log, bool indented) {
  std::string text;
  const auto line = [&](int depth) { text += indented ? "\n" + std::string(static_cast<size_t>(4 * depth), ' ') : ""; };
  const char* const comma = indented ? "," : ", ";
  for (const LogEntry& entry : log) {
    if (!text.empty()) text += comma;
    line(1);
    text += "{";
    const char* separator = "";
    for (const auto& [key, number] : entry) {
      text += separator;
      line(2);
      text += Json(key).dump(-1, ' ', true, Json::error_handler_t::replace) + ": " + to_text(number, "null");
      separator = comma;
    }
    line(1);
    text += "}";
  }
  if (!log.empty()) line(0);
  return text;
}

/// JSON as Python writes it may hold NaN, Infinity and -Infinity outside of strings: they become null.
std::string without_nan(const std::string& text) {
  std::string result;
  bool in_string = false;
  for (size_t i = 0; i < text.size();) {
    if (in_string && text[i] == '\\') {
      result += text.substr(i, 2);
      i += 2;
      continue;
    }
    if (text[i] == '"') in_string = !in_string;
    size_t length = 0;
    for (const char* word : {"NaN", "Infinity", "-Infinity"}) {
      if (!in_string && text.compare(i, std::strlen(word), word) == 0) length = std::strlen(word);
    }
    result += length > 0 ? "null" : text.substr(i, 1);
    i += length > 0 ? length : 1;
  }
  return result;
}

/// `place` begins messages.
std::vector<LogEntry> from_json(const std::string& text, const std::string& place) {
  const Json rows = Json::parse(without_nan(text), nullptr, false);
  const auto fail = [&](const char* what) { throw ValueError(place + "is not " + what); };
  if (!rows.is_array()) fail("a JSON list");
  std::vector<LogEntry> log;
  for (const Json& row : rows) {
    if (!row.is_object()) fail("a list of JSON objects");
    LogEntry entry;
    for (const auto& [key, value] : row.items()) {
      constexpr double kLargest = 9007199254740992;  // 2^53: an integer that a double holds exactly
      if (value.is_number_integer() && std::abs(value.get<double>()) <= kLargest) {
        entry.set(key, value.get<int64_t>());
      } else if (value.is_number()) {
        entry.set(key, value.get<double>());
      } else {
        entry.set(key, std::numeric_limits<double>::quiet_NaN());
      }
    }
    log.push_back(std::move(entry));
  }
  return log;
}

std::string with_values(std::string name, const LogEntry& entry) {
  for (const auto& [key, number] : entry) replace_all(name, "{" + key + "}", to_text(number, "nan"));
  return name;
}

}  // namespace

void LogEntry::set(const std::string& key, LogNumber value) {
  for (auto& [name, number] : values_) {
    if (name == key) {
      number = value;
      return;
    }
  }
  values_.emplace_back(key, value);
}

const LogNumber* LogEntry::find(const std::string& key) const noexcept {
  for (const auto& [name, number] : values_) {
    if (name == key) return &number;
  }
  return nullptr;
}

double LogEntry::at(const std::string& key) const {
  if (const LogNumber* number = find(key)) return number->value;
  std::string message = "LogEntry::at: the row has no '" + key + "', only";
  for (const auto& [name, number] : values_) message += " '" + name + "'";
  throw KeyError(message);
}

LogReport::LogReport(LogReportOptions options) : options_{std::move(options)} {
  if (options_.filename) argument::not_empty("LogReport", "filename", *options_.filename, "name a file or be nullopt");
}

const LogEntry& LogReport::last() const {
  if (log_.empty()) throw StateError("LogReport::last: nothing has been logged yet");
  return log_.back();
}

void LogReport::operator()(Trainer& trainer) {
  if (options_.keys.empty()) {
    summary_.add(trainer.observation());
  } else {
    Observation chosen;
    for (const std::string& key : options_.keys) {
      if (const ObservedValue* value = trainer.observation().find(key)) chosen.set(key, *value);
    }
    summary_.add(chosen);
  }
  if (!trainer.is_before_training() && !options_.trigger(trainer)) return;

  LogEntry entry;
  for (const auto& [key, mean] : summary_.compute_mean()) entry.set(key, mean);
  summary_.clear();
  entry.set("epoch", trainer.updater().epoch());
  entry.set("iteration", trainer.updater().iteration());
  entry.set("elapsed_time", trainer.elapsed_time());
  const updaters::StepTimes total = trainer.updater().step_times(), times = total.since(times_);
  times_ = total;
  if (times.iterations > 0) {
    entry.set("data_time", times.data / static_cast<double>(times.iterations));
    entry.set("compute_time", times.compute / static_cast<double>(times.iterations));
    if (times.exchange > 0) entry.set("exchange_time", times.exchange / static_cast<double>(times.iterations));
  }
  if (options_.postprocess) options_.postprocess(entry);
  log_.push_back(std::move(entry));
  if (options_.filename) write_file(trainer.out());
}

void LogReport::write_file(const std::string& directory) {
  const std::string path = (std::filesystem::path(directory) / with_values(*options_.filename, log_.back())).string();
  if (path != unsynced_) finalize();
  const size_t rows = log_.size() - rows_in_text_;
  if (std::string added = to_json(std::span(log_).last(rows), true); rows_in_text_ == 0) {
    text_ = std::move(added);
  } else {
    text_.replace(text_.size() - 1, 1, "," + added);  // "\n" before the bracket
  }
  rows_in_text_ = log_.size();
  // Syncing takes milliseconds: rows that follow each other closely share one.
  const double now = steady_seconds();
  const bool sync = now - last_sync_ >= kSyncInterval;
  if (sync) last_sync_ = now;
  write_file_atomically(path, "[" + text_ + "]", sync);
  unsynced_ = sync ? std::string() : path;
}

void LogReport::finalize() {
  if (!unsynced_.empty()) write_file_atomically(std::exchange(unsynced_, {}), "[" + text_ + "]");
}

void LogReport::serialize(Serializer& serializer) {
  options_.trigger.serialize(*serializer.child("_trigger"));
  summary_.serialize(*serializer.child("_summary"));
  times_.serialize(*serializer.child("_step_times"));
  std::string text = "[" + to_json(log_, false) + "]";
  serializer("_log", text);
  if (serializer.is_writer()) return;
  log_ = from_json(text, serializer.place("_log"));
  rows_in_text_ = 0;
}

}  // namespace kusari::training::extensions
