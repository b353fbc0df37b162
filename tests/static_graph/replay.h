#pragma once

#include <cstring>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/kernel.h"
#include "kusari/framework/static_graph/program.h"
#include "kusari/framework/static_graph/recording.h"
#include "kusari/tests/static_graph/run_step.h"

namespace kusari::graphs {

/// Runs a program step by step in the plainest way: every slot has memory of its own, nothing is prepared. What plans
/// and instances do must come to the same.
class PlainReplay {
 public:
  explicit PlainReplay(const Recording& recording) : program_{recording.program}, memory_(program_.slots.size()) {
    for (size_t i = 0; i < memory_.size(); ++i) {
      const Slot& slot = program_.slots[i];
      memory_[i] = empty({static_cast<int64_t>(slot.bytes)}, Dtype::uint8, slot.device);
      if (slot.device.is_cpu()) std::memset(memory_[i].raw_data(), 0xff, slot.bytes);  // NaN, if nobody writes it
    }
    for (const auto& external : recording.externals) bind_storage(external.slot, external.array);
    for (const auto& leaf : recording.leaves) bind_storage(leaf.view.slot, leaf.node->array);
  }

  /// The elements of `array` become the slot of kind input that `view` is all of.
  void bind(const View& view, const Array& array) {
    memory_[static_cast<size_t>(view.slot)] =
        view_of_bytes(static_cast<char*>(array.raw_data()) - view.offset, view.slot, array);
  }

  void run(Phase phase, RandomState first) {
    for (const Step& step : program_.steps) {
      if (step.phase != phase) continue;
      if (step.is_code()) {
        step.code();
        continue;
      }
      run_step(step, first, [&](const View& view) { return array(view); });
      for_each_write(step, [&](const View& view) { memory_[static_cast<size_t>(view.slot)].mark_written(); });
    }
  }

  Array array(const View& view) const {
    if (!view.is_defined()) return Array();
    const Array& memory = memory_[static_cast<size_t>(view.slot)];
    return from_external(memory.data<char>() + view.offset, view.shape, view.strides, view.dtype, memory.device(),
                         nullptr, nullptr);
  }

 private:
  static Array view_of_bytes(char* first, SlotIndex, const Array& owner) {
    auto* const kept = new Array(owner);
    return from_external(
        first, {0}, {1}, Dtype::uint8, owner.device(), [](void* context) { delete static_cast<Array*>(context); },
        kept);
  }
  void bind_storage(SlotIndex slot, const Array& array) {
    memory_[static_cast<size_t>(slot)] = view_of_bytes(static_cast<char*>(array.storage().data), slot, array);
  }

  const Program& program_;
  std::vector<Array> memory_;  // of each slot; only the address counts
};

}  // namespace kusari::graphs
