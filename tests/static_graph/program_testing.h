#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/static_graph/memory_planner.h"
#include "kusari/framework/static_graph/program.h"
#include "kusari/tests/static_graph/run_step.h"

// Programs made by hand and run without a Plan, on the CPU: what passes and plans are compared with.
namespace kusari::graphs {

using Kind = LaunchArgument::Kind;

/// Adds slots and steps to a program.
struct ProgramBuilder {
  Program program;
  Phase phase = Phase::forward;
  Device device;

  /// A C-ordered array of a slot of its own.
  View array(Slot::Kind kind, const Shape& shape, Dtype dtype = Dtype::float32, Export exported = Export::none) {
    const auto bytes = static_cast<size_t>(numel(shape) * itemsize(dtype));
    const SlotIndex slot =
        program.add_slot({.kind = kind, .device = device, .bytes = bytes, .storage_id = 0, .exported = exported});
    return view_of(slot, shape, contiguous_strides(shape), dtype);
  }
  View input(const Shape& shape, Dtype dtype = Dtype::float32) { return array(Slot::Kind::input, shape, dtype); }
  View leaf(const Shape& shape, Dtype dtype = Dtype::float32) { return array(Slot::Kind::leaf, shape, dtype); }
  View external(const Shape& shape, Dtype dtype = Dtype::float32) { return array(Slot::Kind::external, shape, dtype); }
  View temporary(const Shape& shape, Dtype dtype = Dtype::float32) {
    return array(Slot::Kind::intermediate, shape, dtype);
  }
  View result(const Shape& shape, Dtype dtype = Dtype::float32) {
    return array(Slot::Kind::intermediate, shape, dtype, Export::own);
  }

  /// A launch of kernel K with these operands.
  template <class K>
  void add(std::vector<Operand> operands) {
    program.steps.push_back(make_step<K>(device, phase, std::move(operands)));
  }
  /// y = op(x...), like pointwise_to.
  template <class Op, class... X>
  void pointwise_to(const View& y, const Op& op, const X&... x) {
    add<kernels::Pointwise<Op>>({params_of(op), operand_of(Kind::in, x)..., operand_of(Kind::out, y)});
  }
  /// y = op(x...) in a new slot like that of the first operand.
  template <class Op, class X0, class... X>
  View pointwise(const Op& op, const X0& x0, const X&... x) {
    const View y = temporary(x0.shape, x0.dtype);
    pointwise_to(y, op, x0, x...);
    return y;
  }
  void code(std::function<void()> action) {
    Step step;
    step.phase = phase;
    step.code = std::move(action);
    program.steps.push_back(std::move(step));
  }
};

/// Memory for a program's slots, filled with 0xff (NaN), and a way to run its steps there.
class ProgramRunner {
 public:
  enum class Memory : uint8_t { separate, packed };

  /// Packed: intermediate slots lie in one arena where pack() puts them.
  explicit ProgramRunner(const Program& program, Memory memory = Memory::separate) : program_{program} {
    constexpr size_t kAlignment = 64;
    const std::vector<Lifetime> lives =
        memory == Memory::packed ? lifetimes(program) : std::vector<Lifetime>(program.slots.size());
    packing_ = pack(lives, kAlignment);
    arena_ = full({static_cast<int64_t>(packing_.bytes)}, 255, Dtype::uint8);
    for (size_t i = 0; i < lives.size(); ++i) {
      if (lives[i].bytes > 0) {
        slots_.push_back(
            arena_.slice(0, static_cast<int64_t>(packing_.offsets[i]), static_cast<int64_t>(program.slots[i].bytes)));
      } else {
        slots_.push_back(full({static_cast<int64_t>(program.slots[i].bytes)}, 255, Dtype::uint8));
      }
    }
  }

  const Packing& packing() const noexcept { return packing_; }

  /// The elements of a view; undefined for an undefined one.
  Array at(const View& view) const {
    if (!view.is_defined()) return {};
    auto* const start = slots_[static_cast<size_t>(view.slot)].data<std::byte>();
    return from_external(
        start + view.offset, view.shape, view.strides, view.dtype, Device(), [](void*) {}, nullptr);
  }

  /// Runs all steps; each phase draws its random numbers from `first` on.
  void run(RandomState first = {}) const {
    for (const Step& step : program_.steps) {
      if (step.is_code()) {
        step.code();
      } else {
        run_step(step, first, [&](const View& view) { return at(view); });
      }
    }
  }

 private:
  const Program& program_;
  Packing packing_;
  Array arena_;
  std::vector<Array> slots_;  // their bytes
};

}  // namespace kusari::graphs
