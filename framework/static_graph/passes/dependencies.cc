#include "kusari/framework/static_graph/passes/dependencies.h"

#include <algorithm>
#include <utility>

#include "kusari/framework/core/dtype.h"

namespace kusari::graphs {

Dependencies::Dependencies(const Program& program) : reachable_(program.slots.size()) {
  const size_t slots = program.slots.size();
  for (size_t i = 0; i < slots; ++i) {
    const Slot& slot = program.slots[i];
    reachable_[i] =
        slot.exported != Export::none || (slot.kind != Slot::Kind::intermediate && slot.kind != Slot::Kind::constant);
  }

  std::vector<std::pair<SlotIndex, Access>> found;
  std::vector<int32_t> last(slots, -1);  // of each slot in `found`
  const auto use = [&](SlotIndex slot, int32_t step, bool reads, bool writes) {
    int32_t& at = last[static_cast<size_t>(slot)];
    if (at >= 0 && found[static_cast<size_t>(at)].second.step == step) {
      Access& access = found[static_cast<size_t>(at)].second;
      access.reads |= reads;
      access.writes |= writes;
      return;
    }
    at = static_cast<int32_t>(found.size());
    found.push_back({slot, {step, reads, writes}});
  };
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    const auto index = static_cast<int32_t>(i);
    if (step.is_code()) {
      for (size_t slot = 0; slot < slots; ++slot) {
        if (reachable_[slot]) use(static_cast<SlotIndex>(slot), index, true, true);
      }
    }
    for_each_read(step, [&](const View& view) { use(view.slot, index, true, false); });
    for_each_write(step, [&](const View& view) { use(view.slot, index, false, true); });
  }

  begins_.assign(slots + 1, 0);
  for (const auto& [slot, access] : found) ++begins_[static_cast<size_t>(slot) + 1];
  for (size_t i = 0; i < slots; ++i) begins_[i + 1] += begins_[i];
  accesses_.resize(found.size());
  std::vector<int32_t> next(begins_.begin(), begins_.end() - 1);
  for (const auto& [slot, access] : found) {
    accesses_[static_cast<size_t>(next[static_cast<size_t>(slot)]++)] = access;
  }
}

std::span<const Access> Dependencies::accesses(SlotIndex slot) const noexcept {
  const auto i = static_cast<size_t>(slot);
  return std::span(accesses_).subspan(static_cast<size_t>(begins_[i]),
                                      static_cast<size_t>(begins_[i + 1] - begins_[i]));
}

bool Dependencies::is_reachable(SlotIndex slot) const noexcept { return reachable_[static_cast<size_t>(slot)]; }

int Dependencies::count_reads(SlotIndex slot) const noexcept {
  return static_cast<int>(std::ranges::count_if(accesses(slot), &Access::reads));
}

int Dependencies::count_writes(SlotIndex slot) const noexcept {
  return static_cast<int>(std::ranges::count_if(accesses(slot), &Access::writes));
}

namespace {
/// The first access at a step after `step`.
auto first_after(std::span<const Access> accesses, int32_t step) {
  return std::ranges::upper_bound(accesses, step, {}, &Access::step);
}
}  // namespace

bool Dependencies::is_written_between(SlotIndex slot, int32_t after, int32_t before) const noexcept {
  const std::span<const Access> all = accesses(slot);
  for (auto at = first_after(all, after); at != all.end() && at->step < before; ++at) {
    if (at->writes) return true;
  }
  return false;
}

bool Dependencies::is_used_between(SlotIndex slot, int32_t after, int32_t before) const noexcept {
  const std::span<const Access> all = accesses(slot);
  const auto at = first_after(all, after);
  return at != all.end() && at->step < before;
}

int32_t Dependencies::last_write_before(SlotIndex slot, int32_t step) const noexcept {
  const std::span<const Access> all = accesses(slot);
  for (auto at = first_after(all, step - 1); at != all.begin();) {
    if ((--at)->writes) return at->step;
  }
  return -1;
}

int32_t Dependencies::only_reader(SlotIndex slot) const noexcept {
  const std::span<const Access> all = accesses(slot);
  if (is_reachable(slot) || all.size() != 2) return -1;
  const bool is_written_then_read = all[0].writes && !all[0].reads && all[1].reads && !all[1].writes;
  return is_written_then_read ? all[1].step : -1;
}

ByteRange bytes_of(const View& view) {
  const auto element = static_cast<int64_t>(itemsize(view.dtype));
  int64_t lowest = 0, highest = 0;
  for (int axis = 0; axis < view.shape.ndim(); ++axis) {
    if (view.shape[axis] == 0) return {view.offset, view.offset};
    const int64_t reach = (view.shape[axis] - 1) * view.strides[axis];
    (reach < 0 ? lowest : highest) += reach;
  }
  return {view.offset + lowest * element, view.offset + (highest + 1) * element};
}

bool is_whole(const Program& program, const View& view) {
  const auto bytes = static_cast<int64_t>(program.slots[static_cast<size_t>(view.slot)].bytes);
  const ByteRange range = bytes_of(view);
  if (range.begin != 0 || range.end != bytes) return false;
  if (numel(view.shape) * static_cast<int64_t>(itemsize(view.dtype)) != bytes) return false;
  // As many elements as places: each is met once if no two axes lead to the same place.
  std::vector<std::pair<int64_t, int64_t>> axes;  // stride and size
  for (int axis = 0; axis < view.shape.ndim(); ++axis) {
    if (view.shape[axis] != 1) axes.emplace_back(view.strides[axis], view.shape[axis]);
  }
  std::ranges::sort(axes);
  int64_t expected = 1;
  for (const auto& [stride, size] : axes) {
    if (stride != expected) return false;
    expected *= size;
  }
  return true;
}

bool may_overlap(const View& a, const View& b) {
  if (a.slot != b.slot) return false;
  const ByteRange x = bytes_of(a), y = bytes_of(b);
  return x.begin < y.end && y.begin < x.end;
}

bool is_repeatable(const Program& program, const Dependencies& dependencies, const Step& step) {
  if (step.is_code()) return false;
  bool writes = false;
  for (const Operand& operand : step.operands) {
    switch (operand.kind) {
      case LaunchArgument::Kind::in_out:
      case LaunchArgument::Kind::in_out_list:
        // Running statistics may be left out.
        if (std::ranges::any_of(operand.views, &View::is_defined)) return false;
        break;
      case LaunchArgument::Kind::random_state:
      case LaunchArgument::Kind::workspace:
        return false;
      case LaunchArgument::Kind::out:
      case LaunchArgument::Kind::out_list:
        for (const View& view : operand.views) {
          if (!view.is_defined()) continue;
          const Slot& slot = program.slots[static_cast<size_t>(view.slot)];
          if (slot.kind != Slot::Kind::intermediate || slot.exported != Export::none) return false;
          if (dependencies.count_writes(view.slot) != 1 || !is_whole(program, view)) return false;
          writes = true;
        }
        break;
      default:
        break;
    }
  }
  return writes;
}

int erase_steps(Program& program, const std::vector<bool>& is_dropped) {
  size_t kept = 0;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    if (is_dropped[i]) continue;
    if (kept != i) program.steps[kept] = std::move(program.steps[i]);
    ++kept;
  }
  const size_t dropped = program.steps.size() - kept;
  program.steps.resize(kept);
  return static_cast<int>(dropped);
}

}  // namespace kusari::graphs
