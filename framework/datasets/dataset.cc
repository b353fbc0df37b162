#include "kusari/framework/datasets/dataset.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/host_vector.h"
#include "kusari/framework/datasets/range_indices.h"

namespace kusari::datasets {

std::vector<int64_t> range_indices(const char* call, const Range& range, int64_t size) {
  if (range.step == 0) throw ValueError(std::string(call) + ": step is 0: it must be another number");
  const bool forward = range.step > 0;
  const int64_t step = std::max(range.step, -std::numeric_limits<int64_t>::max());
  const int64_t lowest = forward ? 0 : -1, highest = forward ? size : size - 1;
  const auto place = [&](const std::optional<int64_t>& given, int64_t otherwise) {
    if (!given) return otherwise;
    return std::clamp(*given < 0 ? *given + size : *given, lowest, highest);
  };
  const int64_t start = place(range.start, forward ? lowest : highest);
  const int64_t stop = place(range.stop, forward ? highest : lowest);
  const int64_t distance = forward ? stop - start : start - stop;
  std::vector<int64_t> indices = host_vector<int64_t>({distance <= 0 ? 0 : (distance - 1) / std::abs(step) + 1}, call);
  for (int64_t k = 0; k < std::ssize(indices); ++k) indices[static_cast<size_t>(k)] = start + k * step;
  return indices;
}

Dataset::~Dataset() = default;

Keys Dataset::keys() const { return {}; }

std::vector<Example> Dataset::take(std::span<const int64_t> indices) const {
  return in_host_memory("Dataset::take", [&] {
    std::vector<Example> examples;
    examples.reserve(indices.size());
    for (const int64_t i : indices) examples.push_back((*this)[i]);
    return examples;
  });
}

std::vector<Example> Dataset::slice(const Range& range) const {
  return take(range_indices("Dataset::slice", range, size()));
}

size_t Dataset::component(std::string_view key) const {
  const Keys names = keys();
  const auto found = std::find(names.begin(), names.end(), key);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  std::string message = "Dataset::component: there is no key '" + std::string(key) + "', ";
  if (names.empty()) throw KeyError(message + "the examples are tuples");
  message += "only";
  for (const std::string& name : names) message += " '" + name + "'";
  throw KeyError(message);
}

void Dataset::throw_index(const char* call, int64_t i, int64_t size) {
  throw IndexError(std::string(call) + ": index " + std::to_string(i) + " is out of range: the data set has " +
                   std::to_string(size) + " examples");
}

}  // namespace kusari::datasets
