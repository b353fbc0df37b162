#include "kusari/framework/training/html/log_summary.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <limits>
#include <unordered_set>
#include <utility>

#include "kusari/framework/core/number_text.h"

namespace kusari::training::html {
namespace {

using extensions::LogEntry;
using extensions::LogNumber;

bool is_one_of(const std::string& key, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(), [&](const char* name) { return key == name; });
}

bool is_place(const std::string& key) { return is_one_of(key, {"epoch", "iteration"}); }
bool is_time(const std::string& key) {
  return is_one_of(key, {"data_time", "compute_time", "exchange_time", "elapsed_time"});
}

/// "a/percentile" of "a/percentile/3".
std::string without_index(const std::string& key) {
  const size_t slash = key.rfind('/');
  if (slash == std::string::npos || slash + 1 == key.size()) return key;
  const bool is_index = std::all_of(key.begin() + static_cast<ptrdiff_t>(slash) + 1, key.end(),
                                    [](unsigned char c) { return std::isdigit(c) != 0; });
  return is_index ? key.substr(0, slash) : key;
}

template <class... Numbers>
std::string format(const char* pattern, Numbers... numbers) {
  char text[80];
  std::snprintf(text, sizeof text, pattern, numbers...);
  return text;
}

}  // namespace

LogTable::LogTable(const Log& log) : rows_{log.size()} {
  std::vector<std::string> places, values, times;
  std::unordered_set<std::string> known;
  for (const LogEntry& entry : log) {
    for (const auto& [key, number] : entry) {
      if (known.insert(key).second) (is_place(key) ? places : is_time(key) ? times : values).push_back(key);
    }
  }
  for (auto* group : {&places, &values, &times}) names_.insert(names_.end(), group->begin(), group->end());
  for (size_t i = 0; i < names_.size(); ++i) places_[names_[i]] = i;
  columns_.assign(names_.size(), Column(rows_));
  for (size_t row = 0; row < rows_; ++row) {
    for (const auto& [key, number] : log[row]) columns_[places_.at(key)][row] = &number;
  }
}

const LogTable::Column* LogTable::find(const std::string& name) const noexcept {
  const auto found = places_.find(name);
  return found == places_.end() ? nullptr : &columns_[found->second];
}

size_t LogTable::best_row(const std::string& name) const {
  const int direction = better_direction(name);
  const Column* const numbers = find(name);
  if (direction == 0 || numbers == nullptr) return rows_;
  size_t best = rows_;
  double value = -std::numeric_limits<double>::infinity();
  for (size_t row = 0; row < rows_; ++row) {
    const LogNumber* number = (*numbers)[row];
    if (number == nullptr || !(direction * number->value > value)) continue;
    value = direction * number->value;
    best = row;
  }
  return best;
}

int better_direction(const std::string& key) {
  const std::string name = key.substr(key.rfind('/') + 1);
  const auto has = [&](std::initializer_list<const char*> words) {
    return std::any_of(words.begin(), words.end(),
                       [&](const char* word) { return name.find(word) != std::string::npos; });
  };
  if (has({"loss", "error", "perplexity", "distance", "mse", "mae"})) return -1;
  if (has({"accuracy", "precision", "recall", "f1", "score", "auc", "iou", "bleu", "reward", "return", "r2"})) return 1;
  return 0;
}

std::string x_axis(const LogTable& log) {
  const LogTable::Column* const epochs = log.find("epoch");
  if (epochs == nullptr) return "iteration";
  double previous = -std::numeric_limits<double>::infinity();
  for (const LogNumber* epoch : *epochs) {
    if (epoch == nullptr || !(epoch->value > previous)) return "iteration";
    previous = epoch->value;
  }
  return "epoch";
}

std::vector<charts::LineChart> log_charts(const LogTable& log, const std::string& x_key) {
  std::vector<std::string> keys;
  for (const std::string& key : log.names()) {
    if (!is_place(key) && key != "elapsed_time") keys.push_back(key);
  }
  const auto quantity = [&](const std::string& key) -> std::string {
    if (is_time(key)) return "seconds of an iteration";
    std::string shortest = key;
    for (size_t slash = key.find('/'); slash != std::string::npos; slash = key.find('/', slash + 1)) {
      std::string end = key.substr(slash + 1);
      if (log.find(end) != nullptr) shortest = std::move(end);
    }
    return without_index(shortest);
  };
  const LogTable::Column* const xs = log.find(x_key);
  std::vector<charts::LineChart> result;
  for (const std::string& key : keys) {
    const std::string title = quantity(key);
    charts::Curve curve{key.starts_with(title + "/") ? key.substr(title.size() + 1) : key};
    const LogTable::Column& ys = *log.find(key);
    for (size_t row = 0; xs != nullptr && row < log.rows(); ++row) {
      if ((*xs)[row] != nullptr && ys[row] != nullptr) curve.points.push_back({(*xs)[row]->value, ys[row]->value});
    }
    auto chart = std::find_if(result.begin(), result.end(), [&](const auto& c) { return c.title == title; });
    if (chart == result.end()) {
      chart = result.insert(chart, {.title = title, .x_label = x_key, .marker = ".", .width = 560, .height = 320});
    }
    constexpr size_t kMarkedPoints = 40;
    if (curve.points.size() > kMarkedPoints) chart->marker.clear();
    // The quantity's own curve comes first, even if its validation was logged before it.
    chart->curves.insert(key == title ? chart->curves.begin() : chart->curves.end(), std::move(curve));
  }
  std::erase_if(result, [](const charts::LineChart& chart) { return !chart.has_data(); });
  return result;
}

std::string short_number(const LogNumber& number) {
  if (number.is_integer) return std::to_string(static_cast<int64_t>(number.value));
  return general_text(number.value);
}

std::string short_duration(double seconds) {
  if (!(seconds >= 0) || seconds > 1e10) return "unknown";
  if (seconds < 60) return fixed_text(seconds, 1) + " s";
  const auto total = static_cast<long long>(std::llround(seconds));
  if (total < 3600) return format("%lld min %02lld s", total / 60, total % 60);
  if (total < 48 * 3600) return format("%lld h %02lld min", total / 3600, total / 60 % 60);
  return format("%lld days %lld h", total / 86400, total / 3600 % 24);
}

}  // namespace kusari::training::html
