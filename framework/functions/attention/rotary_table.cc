#include "kusari/framework/functions/attention/rotary_table.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>
#include <numbers>
#include <vector>

#include "kusari/framework/core/fork_safe.h"
#include "kusari/framework/core/graph_capture.h"

namespace kusari::functions {
namespace {

/// Of a table that is kept: 16384 places of heads of 128 elements, 8 MiB in float32.
constexpr int64_t kMostNumbers = int64_t{1} << 21;
constexpr size_t kMostTables = 8;
constexpr int64_t kFewestPlaces = 64;

Array make_table(const RotaryAngles& angles, int64_t first, int64_t times, const Device& device) {
  const int64_t half = angles.half;
  const std::vector<double> turns = rotary_turns(angles);
  std::vector<double> values;
  values.reserve(static_cast<size_t>(2 * times * half));
  for (int64_t t = 0; t < times; ++t) {
    const double place = static_cast<double>(first) + static_cast<double>(t);
    for (const double turn : turns) values.push_back(std::cos(place * turn));
    for (const double turn : turns) values.push_back(std::sin(place * turn));
  }
  return array(values, {times, 2, half}).astype(angles.dtype).to_device(device);
}

/// The tables that were asked for last, the latest one first. Each begins at place 0.
class RotaryTables {
 public:
  /// At least `places` rows.
  Array get(const RotaryAngles& angles, int64_t places, const Device& device) {
    const std::scoped_lock lock(mutex_);
    const auto found = std::find_if(tables_.begin(), tables_.end(), [&](const Table& table) {
      return table.angles == angles && table.rows.device() == device;
    });
    if (found != tables_.end() && found->rows.shape()[0] >= places) {
      std::rotate(tables_.begin(), found, found + 1);
      return tables_.front().rows;
    }
    const auto doubled = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max(places, kFewestPlaces))));
    const Array rows = make_table(angles, 0, std::max(places, std::min(doubled, most_places(angles))), device);
    if (found != tables_.end()) {
      tables_.erase(found);
    } else if (tables_.size() == kMostTables) {
      tables_.pop_back();
    }
    tables_.insert(tables_.begin(), {angles, rows});
    return rows;
  }
  static int64_t most_places(const RotaryAngles& angles) { return kMostNumbers / (2 * angles.half); }

 private:
  struct Table {
    RotaryAngles angles;
    Array rows;
  };

  ForkSafeMutex mutex_;
  std::vector<Table> tables_;
};

constinit Lazy<RotaryTables> g_rotary_tables;

}  // namespace

std::vector<double> rotary_turns(const RotaryAngles& angles) {
  const auto& [factor, trained, low, high] = angles.scaling;
  std::vector<double> turns;
  for (int64_t i = 0; i < angles.half; ++i) {
    const double turn = std::pow(angles.base, -static_cast<double>(i) / static_cast<double>(angles.half));
    const double rounds = static_cast<double>(trained) * turn / (2 * std::numbers::pi);
    const double kept = std::clamp((rounds - low) / (high - low), 0.0, 1.0);
    turns.push_back(turn * (kept + (1 - kept) / factor));
  }
  return turns;
}

Array rotary_table(const RotaryAngles& angles, int64_t first, int64_t times, const Device& device) {
  return host_constant([&] {
    const int64_t most = RotaryTables::most_places(angles);
    if (times > most || first > most - times) return make_table(angles, first, times, device);
    return g_rotary_tables->get(angles, first + times, device).slice(0, first, times);
  });
}

}  // namespace kusari::functions
