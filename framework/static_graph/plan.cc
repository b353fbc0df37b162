#include "kusari/framework/static_graph/plan.h"

#include <algorithm>
#include <utility>

#include "kusari/framework/core/backend.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/storage.h"
#include "kusari/framework/static_graph/arena.h"

namespace kusari::graphs {
namespace {

// The one device of all kernels, if it replays graphs by itself; else null.
const Device* graph_device(const Program& program) {
  const Device* device = nullptr;
  for (const Step& step : program.steps) {
    if (step.is_code()) continue;
    if (device != nullptr && *device != step.device) return nullptr;
    device = &step.device;
  }
  return device != nullptr && device->backend().has_graphs() ? device : nullptr;
}

// Whether the view is all of the slot, in some order of its axes.
bool is_whole(const View& view, const Slot& slot) {
  if (view.offset != 0 || static_cast<size_t>(numel(view.shape) * itemsize(view.dtype)) != slot.bytes) return false;
  for (const int64_t stride : view.strides) {
    if (stride < 0) return false;
  }
  return kusari::detail::strides_dense(view.shape, view.strides);
}

}  // namespace

Plan::Plan(Program program) : program_{std::move(program)}, stale_text_{graphs::stale_text(program_.name)} {
  homes_.resize(program_.slots.size());
  find_ranges();
  find_views();
  find_homes();
  find_memories();
}

size_t Plan::arena_bytes() const noexcept {
  size_t bytes = 0;
  for (const Memory& memory : memories_) bytes += memory.packing.bytes;
  return bytes;
}

void Plan::find_ranges() {
  const std::vector<Step>& steps = program_.steps;
  int32_t at = 0;
  for (const Phase phase : {Phase::constant, Phase::forward, Phase::backward}) {
    Range& range = ranges_[static_cast<size_t>(phase)];
    range.begin = at;
    while (static_cast<size_t>(at) < steps.size() && steps[static_cast<size_t>(at)].phase == phase) ++at;
    range.end = at;
  }
  if (static_cast<size_t>(at) != steps.size()) {
    throw StateError("Plan: step " + std::to_string(at) + " ('" + steps[static_cast<size_t>(at)].name +
                     "') of static graph '" + program_.name + "' belongs to a phase that is over");
  }
}

void Plan::find_views() {
  std::vector<std::vector<View>> of_slot(program_.slots.size());
  std::vector<std::pair<SlotIndex, int32_t>> places;  // of each operand's view: the slot, and which of its views
  for (const Step& step : program_.steps) {
    for (const Operand& operand : step.operands) {
      for (const View& view : operand.views) {
        if (!view.is_defined()) {
          places.emplace_back(kNoSlot, 0);
          continue;
        }
        std::vector<View>& known = of_slot[static_cast<size_t>(view.slot)];
        const auto found = std::find(known.begin(), known.end(), view);
        places.emplace_back(view.slot, static_cast<int32_t>(found - known.begin()));
        if (found == known.end()) known.push_back(view);
      }
    }
  }
  for (size_t slot = 0; slot < of_slot.size(); ++slot) {
    homes_[slot].begin = static_cast<int32_t>(views_.size());
    views_.insert(views_.end(), of_slot[slot].begin(), of_slot[slot].end());
    homes_[slot].end = static_cast<int32_t>(views_.size());
  }
  operand_views_.reserve(places.size());
  for (const auto& [slot, index] : places) {
    operand_views_.push_back(slot == kNoSlot ? -1 : homes_[static_cast<size_t>(slot)].begin + index);
  }
}

void Plan::find_homes() {
  const Device* const graphs = graph_device(program_);
  uses_graphs_ = graphs != nullptr;

  std::vector<bool> is_written(homes_.size(), false), is_source(homes_.size(), false);
  for (const Step& step : program_.steps) {
    for_each_write(step, [&](const View& view) {
      const auto slot = static_cast<size_t>(view.slot);
      if (!is_written[slot]) homes_[slot].phase = step.phase;
      is_written[slot] = true;
    });
    if (step.phase != Phase::constant) continue;
    for_each_read(step, [&](const View& view) {
      const auto slot = static_cast<size_t>(view.slot);
      const Slot::Kind kind = program_.slots[slot].kind;
      if ((kind != Slot::Kind::leaf && kind != Slot::Kind::external) || is_source[slot]) return;
      is_source[slot] = true;
      constant_sources_.push_back(view.slot);
    });
  }

  for (size_t i = 0; i < homes_.size(); ++i) {
    const Slot& slot = program_.slots[i];
    Home& home = homes_[i];
    const bool is_graphs = graphs != nullptr && slot.device == *graphs;
    switch (slot.kind) {
      case Slot::Kind::leaf:
      case Slot::Kind::external:
        home.place = Place::bound;
        break;
      case Slot::Kind::input:
        // What a kernel changes in an argument, the caller must see.
        home.place = is_graphs && !is_written[i] ? Place::fixed : Place::bound;
        break;
      case Slot::Kind::constant:
        home.place = Place::fixed;
        break;
      case Slot::Kind::intermediate:
        if (slot.exported == Export::own) {
          home.place = is_graphs ? Place::fixed : Place::renewed;
          home.is_lent = is_graphs;
        } else {
          home.place = Place::arena;
          home.is_lent = slot.exported == Export::arena;
        }
        break;
    }
    if (home.place != Place::renewed) continue;
    for (int32_t view = home.begin; view < home.end && home.whole < 0; ++view) {
      if (is_whole(views_[static_cast<size_t>(view)], slot)) home.whole = view;
    }
  }
}

void Plan::find_memories() {
  const std::vector<Lifetime> all = lifetimes(program_);
  for (size_t i = 0; i < homes_.size(); ++i) {
    Home& home = homes_[i];
    if (home.place != Place::arena && home.place != Place::fixed) continue;
    const Device& device = program_.slots[i].device;
    size_t memory = 0;
    while (memory < memories_.size() && memories_[memory].device != device) ++memory;
    if (memory == memories_.size()) memories_.push_back({.device = device, .packing = {}});
    home.memory = static_cast<int32_t>(memory);
    if (home.place != Place::fixed) continue;
    const size_t alignment = Arena::alignment(device);
    home.offset = memories_[memory].fixed_bytes;
    memories_[memory].fixed_bytes += (program_.slots[i].bytes + alignment - 1) / alignment * alignment;
  }
  for (size_t memory = 0; memory < memories_.size(); ++memory) {
    std::vector<Lifetime> blocks = all;
    for (size_t i = 0; i < homes_.size(); ++i) {
      if (homes_[i].place != Place::arena || homes_[i].memory != static_cast<int32_t>(memory)) blocks[i].bytes = 0;
    }
    memories_[memory].packing = pack(blocks, Arena::alignment(memories_[memory].device));
    for (size_t i = 0; i < homes_.size(); ++i) {
      if (blocks[i].bytes != 0) homes_[i].offset = memories_[memory].packing.offsets[i];
    }
  }
}

}  // namespace kusari::graphs
