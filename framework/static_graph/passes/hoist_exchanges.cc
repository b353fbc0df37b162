#include "kusari/framework/static_graph/passes/hoist_exchanges.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/kernels/exchange.h"
#include "kusari/framework/static_graph/passes/dependencies.h"

namespace kusari::graphs {

namespace {

constexpr int kKernelsBetweenLooks = 4;

template <class K>
bool calls(const Step& step) {
  return !step.is_code() && step.id.index == kernel_id<K>().index;
}

bool starts(const Step& step) {
  return calls<kernels::StartExchange>(step) || calls<kernels::StartDeviceExchange>(step);
}
bool finishes(const Step& step) {
  return calls<kernels::FinishExchange>(step) || calls<kernels::FinishDeviceExchange>(step);
}

/// A start with the steps that fill its array.
struct Unit {
  std::vector<int32_t> steps;
  int32_t behind = -1;
};

// The steps that write what `start` sends, if they do nothing else.
bool find_filling(const Program& program, const Dependencies& dependencies, int32_t start, Unit& unit) {
  const SlotIndex sent = program.steps[static_cast<size_t>(start)].operands[1].views[0].slot;
  for (const Access& access : dependencies.accesses(sent)) {
    if (access.step >= start) break;
    const Step& step = program.steps[static_cast<size_t>(access.step)];
    bool fills_it = !runs_on_host(step);
    for_each_write(step, [&](const View& view) { fills_it &= view.slot == sent; });
    if (!fills_it) return false;
    unit.steps.push_back(access.step);
  }
  unit.steps.push_back(start);
  for (const int32_t index : unit.steps) {
    for_each_read(program.steps[static_cast<size_t>(index)], [&](const View& view) {
      if (view.slot != sent) unit.behind = std::max(unit.behind, dependencies.last_write_before(view.slot, index));
    });
  }
  return true;
}

void add_looks(Program& program, int32_t first, int32_t last) {
  std::vector<Step> steps;
  int kernels = 0;
  const auto count = static_cast<int32_t>(program.steps.size());
  std::vector<Operand> place;  // of the last start
  for (int32_t i = 0; i < count; ++i) {
    Step& step = program.steps[static_cast<size_t>(i)];
    const bool is_between = i > first && i < last && !runs_on_host(step);
    if (starts(step)) place.assign(1, step.operands[0]);
    const Device device = step.device;
    const Phase phase = step.phase;
    steps.push_back(std::move(step));
    if (is_between && ++kernels % kKernelsBetweenLooks == 0) {
      steps.push_back(make_step<kernels::LookAtExchange>(device, phase, place));
    }
  }
  program.steps = std::move(steps);
}

}  // namespace

int hoist_exchanges(Program& program, PassLog& log) {
  const Dependencies dependencies(program);
  std::vector<Unit> units;
  std::vector<bool> is_moved(program.steps.size());
  int32_t barrier = -1, previous = -1;
  int moved = 0;
  for (int32_t i = 0; i < static_cast<int32_t>(program.steps.size()); ++i) {
    const Step& step = program.steps[static_cast<size_t>(i)];
    if (step.is_code() || finishes(step)) barrier = i;
    if (!starts(step)) continue;
    Unit unit;
    if (!find_filling(program, dependencies, i, unit)) {
      previous = i;
      continue;
    }
    unit.behind = previous = std::max({unit.behind, previous, barrier});
    if (unit.behind >= unit.steps.front()) {
      previous = i;
      continue;
    }
    for (const int32_t index : unit.steps) is_moved[static_cast<size_t>(index)] = true;
    // Not if it only stays behind exchanges that go.
    moved += std::find(is_moved.begin() + unit.behind + 1, is_moved.begin() + i, false) != is_moved.begin() + i ? 1 : 0;
    units.push_back(std::move(unit));
  }
  if (units.empty()) return 0;

  std::vector<Step> steps;
  steps.reserve(program.steps.size());
  auto unit = units.begin();
  const auto take_units = [&](int32_t behind) {
    for (; unit != units.end() && unit->behind == behind; ++unit) {
      for (const int32_t index : unit->steps) steps.push_back(std::move(program.steps[static_cast<size_t>(index)]));
    }
  };
  take_units(-1);
  for (int32_t i = 0; i < static_cast<int32_t>(program.steps.size()); ++i) {
    if (!is_moved[static_cast<size_t>(i)]) steps.push_back(std::move(program.steps[static_cast<size_t>(i)]));
    take_units(i);
  }
  program.steps = std::move(steps);

  const auto find = [&](const auto& test) {
    return static_cast<int32_t>(std::ranges::find_if(program.steps, test) - program.steps.begin());
  };
  const int32_t first = find(starts), last = find(finishes);
  if (program.steps[static_cast<size_t>(first)].device.is_cpu()) add_looks(program, first, last);
  if (moved > 0) {
    log.entries.push_back({"hoist_exchanges", "moved " + std::to_string(moved) + " behind what they send"});
  }
  return moved;
}

}  // namespace kusari::graphs
