#include "kusari/framework/static_graph/summary.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace kusari::graphs {

namespace {

std::string mebibytes(size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

std::string counted(size_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string name_of(const Step& step) {
  if (step.is_code()) return "static_code";
  return step.fused.empty() ? step.name : step.name + (" (" + step.fused + ")");
}

/// The kernels of one phase, the most frequent first.
std::string phase_lines(const Program& program, Phase phase, const char* name) {
  std::map<std::string, size_t> counts;
  size_t steps = 0;
  for (const Step& step : program.steps) {
    if (step.phase != phase) continue;
    ++counts[name_of(step)];
    ++steps;
  }
  if (steps == 0) return "";
  std::vector<std::pair<std::string, size_t>> sorted(counts.begin(), counts.end());
  std::ranges::stable_sort(sorted, std::ranges::greater{}, &std::pair<std::string, size_t>::second);
  std::string text = std::string("  ") + name + ", " + counted(steps, "kernel") + "\n";
  for (const auto& [kernel, count] : sorted) {
    std::string number = std::to_string(count);
    number.insert(0, number.size() < 6 ? 6 - number.size() : 0, ' ');
    text += number + "  " + kernel + "\n";
  }
  return text;
}

}  // namespace

std::string summary(const Program& program, const Packing& packing, const PassLog& log) {
  std::string text = "static graph '" + program.name + "': " + counted(program.steps.size(), "kernel") + ", " +
                     counted(log.recorded_kernels, "kernel") + " recorded\n";
  text += phase_lines(program, Phase::constant, "when parameters change");
  text += phase_lines(program, Phase::forward, "forward");
  text += phase_lines(program, Phase::backward, "backward");

  size_t arrays = 0, bytes = 0, constants = 0;
  for (const Lifetime& life : lifetimes(program)) {
    arrays += life.bytes > 0;
    bytes += life.bytes;
  }
  for (const Slot& slot : program.slots) {
    if (slot.kind == Slot::Kind::constant) constants += slot.bytes;
  }
  text += "  memory\n";
  text += "    recorded     " + mebibytes(log.recorded_bytes) + " of intermediate arrays, " +
          mebibytes(log.recorded_live_bytes) + " of them in use at one time\n";
  text += "    planned      " + mebibytes(bytes) + " in " + counted(arrays, "array") + ", " +
          mebibytes(packing.lower_bound) + " of them in use at one time\n";
  text += "    arena        " + mebibytes(packing.bytes) + "\n";
  if (constants > 0) text += "    constants    " + mebibytes(constants) + "\n";
  if (!log.entries.empty()) text += "  passes\n";
  for (const PassLog::Entry& entry : log.entries) text += "    " + entry.pass + ": " + entry.what + "\n";
  return text;
}

}  // namespace kusari::graphs
