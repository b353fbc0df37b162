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

std::string name_of(const Step& step) { return step.fused.empty() ? step.name : step.name + (" (" + step.fused + ")"); }

/// The kernels of one phase, the most frequent first.
std::string phase_lines(const Program& program, Phase phase, const char* title) {
  std::map<std::string, size_t> counts;
  size_t kernels = 0, codes = 0;
  for (const Step& step : program.steps) {
    if (step.phase != phase) continue;
    if (step.is_code()) {
      ++codes;
    } else {
      ++counts[name_of(step)];
      ++kernels;
    }
  }
  if (kernels + codes == 0) return "";
  std::string text = std::string("  ") + title + ": " + std::to_string(kernels);
  if (codes > 0) text += ", and static_code " + std::to_string(codes) + (codes == 1 ? " time" : " times");
  text += "\n";
  std::vector<std::pair<std::string, size_t>> sorted(counts.begin(), counts.end());
  std::ranges::stable_sort(sorted, std::ranges::greater{}, &std::pair<std::string, size_t>::second);
  for (const auto& [kernel, count] : sorted) {
    std::string number = std::to_string(count);
    number.insert(0, number.size() < 8 ? 8 - number.size() : 0, ' ');
    text += number + "  " + kernel + "\n";
  }
  return text;
}

}  // namespace

std::string summary(const Program& program, const Packing& packing, const PassLog& log) {
  const auto kernels = std::ranges::count_if(program.steps, [](const Step& step) { return !step.is_code(); });
  std::string text = "static graph '" + program.name + "': " + std::to_string(kernels) + " kernels, " +
                     std::to_string(log.recorded_kernels) + " recorded\n";
  text += phase_lines(program, Phase::constant, "when parameters change");
  text += phase_lines(program, Phase::forward, "forward");
  text += phase_lines(program, Phase::backward, "backward");

  size_t bytes = 0, constants = 0;
  for (const Lifetime& life : lifetimes(program)) bytes += life.bytes;
  for (const Slot& slot : program.slots) {
    if (slot.kind == Slot::Kind::constant) constants += slot.bytes;
  }
  const auto arrays = [](size_t all, size_t at_once) {
    return mebibytes(all) + " of intermediate arrays, " + mebibytes(at_once) + " in use at one time\n";
  };
  text += "  memory\n";
  text += "    recorded   " + arrays(log.recorded_bytes, log.recorded_live_bytes);
  text += "    planned    " + arrays(bytes, packing.lower_bound);
  text += "    arena      " + mebibytes(packing.bytes) + "\n";
  if (constants > 0) text += "    constants  " + mebibytes(constants) + "\n";
  if (!log.entries.empty()) text += "  passes\n";
  for (const PassLog::Entry& entry : log.entries) text += "    " + entry.pass + ": " + entry.what + "\n";
  return text;
}

}  // namespace kusari::graphs
