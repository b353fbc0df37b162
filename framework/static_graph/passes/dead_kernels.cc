#include "kusari/framework/static_graph/passes/dead_kernels.h"

#include <string>
#include <vector>

#include "kusari/framework/static_graph/passes/dependencies.h"

namespace kusari::graphs {

namespace {

/// Whether memory of the slot matters after the program's end, whoever reads it.
bool outlives_program(const Slot& slot) {
  return slot.exported != Export::none || (slot.kind != Slot::Kind::intermediate && slot.kind != Slot::Kind::constant);
}

}  // namespace

int dead_kernels(Program& program, PassLog& log) {
  std::vector<bool> is_needed(program.slots.size());  // by the steps after the one looked at
  for (size_t i = 0; i < is_needed.size(); ++i) is_needed[i] = outlives_program(program.slots[i]);

  std::vector<bool> is_dead(program.steps.size());
  for (size_t i = program.steps.size(); i-- > 0;) {
    const Step& step = program.steps[i];
    bool writes = false, is_live = step.is_code();
    for_each_write(step, [&](const View& view) {
      writes = true;
      is_live |= is_needed[static_cast<size_t>(view.slot)];
    });
    // A kernel that writes no array may do something else.
    is_dead[i] = writes && !is_live;
    if (is_dead[i]) continue;
    for (const Operand& operand : step.operands) {
      if (operand.kind != LaunchArgument::Kind::out && operand.kind != LaunchArgument::Kind::out_list) continue;
      for (const View& view : operand.views) {
        // Nobody sees what was there before.
        if (view.is_defined() && !outlives_program(program.slots[static_cast<size_t>(view.slot)]) &&
            is_whole(program, view)) {
          is_needed[static_cast<size_t>(view.slot)] = false;
        }
      }
    }
    for_each_read(step, [&](const View& view) { is_needed[static_cast<size_t>(view.slot)] = true; });
  }

  const int dropped = erase_steps(program, is_dead);
  if (dropped > 0) {
    log.entries.push_back({"dead_kernels", "dropped " + std::to_string(dropped) + " whose results nobody reads"});
  }
  return dropped;
}

}  // namespace kusari::graphs
