#include "kusari/framework/core/tuning.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <sstream>
#include <string_view>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/fork_safe.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/core/serializer.h"

namespace kusari::tuning {
namespace {

constexpr std::string_view kEquals = " = ";

struct Table {
  ForkSafeMutex mutex;
  std::map<std::string, std::string> algorithms;  // by the problem
  std::atomic<uint64_t> generation{0};
};

constinit Lazy<Table> table;

bool is_printable(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace

std::string find(const std::string& problem) {
  Table& t = *table;
  const std::lock_guard lock(t.mutex);
  const auto found = t.algorithms.find(problem);
  return found == t.algorithms.end() ? std::string() : found->second;
}

void keep(const std::string& problem, const std::string& algorithm) {
  Table& t = *table;
  const std::lock_guard lock(t.mutex);
  t.algorithms[problem] = algorithm;
}

uint64_t generation() noexcept { return table->generation; }

std::string choices() {
  Table& t = *table;
  const std::lock_guard lock(t.mutex);
  std::string text;
  for (const auto& [problem, algorithm] : t.algorithms) text.append(problem).append(kEquals).append(algorithm) += '\n';
  return text;
}

void restore(const std::string& choices) {
  Table& t = *table;
  int lines = 0, bad = 0;
  {
    const std::lock_guard lock(t.mutex);
    std::istringstream stream(choices);
    for (std::string line; std::getline(stream, line); ++lines) {
      const size_t middle = line.find(kEquals), algorithm = middle + kEquals.size();
      if (middle == std::string::npos || middle == 0 || algorithm == line.size() || !is_printable(line)) {
        ++bad;
      } else {
        t.algorithms[line.substr(0, middle)] = line.substr(algorithm);
      }
    }
    ++t.generation;
  }
  if (bad > 0) {
    log::warn("tuning::restore: " + std::to_string(bad) + " of " + std::to_string(lines) +
              " lines are no choices of algorithms and were left out");
  }
}

void serialize(Serializer& serializer) {
  if (serializer.is_writer()) {
    std::string text = choices();
    if (!text.empty()) serializer("choices", text);
  } else if (serializer.restores()) {
    {
      const std::lock_guard lock(table->mutex);
      table->algorithms.clear();
    }
    std::string text;
    if (serializer.contains("choices")) serializer("choices", text);
    restore(text);
  } else if (serializer.contains("choices")) {
    std::string text;
    try {
      serializer("choices", text);
    } catch (const TypeError& e) {  // the worst that can come of leaving them out is a measurement
      log::warn(std::string("tuning: choices of algorithms were left out: ") + e.what());
    }
    restore(text);
  }
}

}  // namespace kusari::tuning
