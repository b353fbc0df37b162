#include "kusari/framework/static_graph/passes/concat_in_place.h"

#include <cstdint>
#include <string>
#include <vector>

#include "kusari/framework/core/basic_kernels.h"
#include "kusari/framework/static_graph/passes/dependencies.h"

namespace kusari::graphs {

namespace {

/// Whether elements that are neighbours in one are so in the other.
bool is_laid_out_like(const View& a, const View& b) {
  if (a.shape != b.shape || a.dtype != b.dtype) return false;
  for (int axis = 0; axis < a.shape.ndim(); ++axis) {
    if (a.shape[axis] != 1 && a.strides[axis] != b.strides[axis]) return false;
  }
  return true;
}

bool may_use(const Step& step, const View& part) {
  bool found = false;
  const auto look = [&](const View& view) { found |= may_overlap(view, part); };
  for_each_read(step, look);
  for_each_write(step, look);
  return found;
}

/// Lets the maker of what step `copy` copies write the copy.
bool take(Program& program, const Dependencies& dependencies, int32_t copy) {
  const Step& step = program.steps[static_cast<size_t>(copy)];
  if (step.is_code() || step.id.index != kernel_id<kernels::Copy>().index) return false;
  const View from = step.operands[0].views[0], to = step.operands[1].views[0];
  if (from.slot == to.slot || !is_laid_out_like(from, to) || !is_whole(program, from)) return false;
  const Slot &source = program.slots[static_cast<size_t>(from.slot)],
             &target = program.slots[static_cast<size_t>(to.slot)];
  if (target.kind != Slot::Kind::intermediate || source.device != target.device) return false;
  if (dependencies.only_reader(from.slot) != copy) return false;
  const int32_t maker = dependencies.last_write_before(from.slot, copy);
  Step& writer = program.steps[static_cast<size_t>(maker)];
  if (writer.is_code() || writer.phase != step.phase) return false;
  for (int32_t i = maker; i < copy; ++i) {
    const Step& between = program.steps[static_cast<size_t>(i)];
    if (between.is_code() ? dependencies.is_reachable(to.slot) : may_use(between, to)) return false;
  }
  for (Operand& operand : writer.operands) {
    for (View& view : operand.views) {
      if (view.slot != from.slot) continue;
      view.slot = to.slot;
      view.offset += to.offset - from.offset;
    }
  }
  return true;
}

}  // namespace

int concat_in_place(Program& program, PassLog& log) {
  int count = 0;
  Dependencies dependencies(program);
  std::vector<bool> is_dropped(program.steps.size());
  for (size_t i = 0; i < program.steps.size(); ++i) {
    if (!take(program, dependencies, static_cast<int32_t>(i))) continue;
    is_dropped[i] = true;
    // The copy would be seen as a second writer; as code without arrays it is nobody's.
    program.steps[i].operands.clear();
    dependencies = Dependencies(program);
    ++count;
  }
  erase_steps(program, is_dropped);
  if (count > 0) {
    log.entries.push_back({"concat_in_place", "let " + std::to_string(count) + " write into what they were copied to"});
  }
  return count;
}

}  // namespace kusari::graphs
