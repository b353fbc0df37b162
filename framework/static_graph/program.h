#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/device.h"
#include "kusari/framework/core/dtype.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/kernel.h"
#include "kusari/framework/core/shape.h"

// What a recording is: the kernels of one call in their order, over numbered blocks of memory. Passes change it; a
// Plan runs it.
namespace kusari::graphs {

/// How the caller gets what is in a slot.
enum class Export : uint8_t {
  none,
  own,    ///< in memory of its own, new at every replay where the device allows it
  arena,  ///< where it is in the arena, until the next replay
};

/// A block of memory of the recorded call.
struct Slot {
  enum class Kind : uint8_t {
    intermediate,  ///< allocated by the call: lives in the arena unless it is exported
    input,     ///< of an argument of the call, or in a backward phase of an output's gradient: bound at every replay
    leaf,      ///< of a variable that requires a gradient (a parameter), which may get another array
    external,  ///< other memory that was there before the call: running statistics, states of optimizers, constants
    constant,  ///< made by a pass: filled by the steps of Phase::constant, kept between replays
  };
  Kind kind = Kind::intermediate;
  Device device;
  size_t bytes = 0;
  uint64_t storage_id = 0;  ///< when it was recorded; 0 for a constant
  Export exported = Export::none;
};
using SlotIndex = int32_t;
inline constexpr SlotIndex kNoSlot = -1;

/// An array of the recorded call: some elements of a slot.
struct View {
  SlotIndex slot = kNoSlot;  ///< kNoSlot: an undefined array, an optional argument not given
  Dtype dtype = Dtype::float32;
  Shape shape;
  Strides strides;     ///< in elements
  int64_t offset = 0;  ///< bytes from the slot's start to the first element

  bool is_defined() const noexcept { return slot != kNoSlot; }
  friend bool operator==(const View&, const View&) = default;
};

/// One argument of a kernel.
struct KUSARI_API Operand {
  LaunchArgument::Kind kind = LaunchArgument::Kind::params;
  std::vector<View> views;       ///< one, or those of a list; none for the kinds without arrays
  std::vector<std::byte> bytes;  ///< of params, workspace and random_state

  bool is_read() const noexcept;     ///< in, in_out, device_scalar and the lists of these
  bool is_written() const noexcept;  ///< out, in_out and the lists of these
};

/// When a step runs.
enum class Phase : uint8_t {
  constant,  ///< when a leaf or an external slot that it depends on has changed since the last time
  forward,
  backward,
};

/// A kernel with its arguments, or something that the host does at this place (static_code).
struct Step {
  Phase phase = Phase::forward;
  const char* name = "";
  KernelId id{-1};
  Device device;
  Backend::AnyKernel kernel = nullptr;
  void (*run)(Backend::AnyKernel kernel, const LaunchArgument* arguments) = nullptr;
  std::vector<Operand> operands;
  Callable<void()> code;  ///< instead of a kernel
  std::string fused;      ///< for summaries: the names of the kernels that a pass has put into this one

  bool is_code() const noexcept { return static_cast<bool>(code); }
  /// Parameters of type T of operand `index`, as the launch gave them.
  template <class T>
  T params(size_t index) const {
    T value;
    std::memcpy(&value, operands[index].bytes.data(), sizeof(T));
    return value;
  }
};

/// Whether the host does it at this place: code, or an exchange with other processes. No graph of a device has it in
/// it.
KUSARI_API bool runs_on_host(const Step& step) noexcept;

struct Program {
  std::string name;  ///< of the static graph, for messages
  std::vector<Slot> slots;
  std::vector<Step> steps;  ///< all of Phase::constant, then forward, then backward
  /// Numbers that a replay of each phase takes off the stream. The random_state operands of a phase hold offsets from
  /// the first of its numbers.
  uint64_t forward_random = 0;
  uint64_t backward_random = 0;

  SlotIndex add_slot(Slot slot) {
    slots.push_back(std::move(slot));
    return static_cast<SlotIndex>(slots.size()) - 1;
  }
};

/// Calls visit(view) for every defined view that the step reads / writes.
template <class Visit>
void for_each_read(const Step& step, Visit&& visit) {
  for (const Operand& operand : step.operands) {
    if (!operand.is_read()) continue;
    for (const View& view : operand.views) {
      if (view.is_defined()) visit(view);
    }
  }
}
template <class Visit>
void for_each_write(const Step& step, Visit&& visit) {
  for (const Operand& operand : step.operands) {
    if (!operand.is_written()) continue;
    for (const View& view : operand.views) {
      if (view.is_defined()) visit(view);
    }
  }
}

/// Operands for make_step.
KUSARI_API Operand operand_of(LaunchArgument::Kind kind, const View& view);
KUSARI_API Operand operand_of(LaunchArgument::Kind kind, std::vector<View> views);
template <class T>
Operand params_of(const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  Operand operand;
  operand.bytes.resize(sizeof(T));
  if constexpr (!std::is_empty_v<T>) std::memcpy(operand.bytes.data(), &value, sizeof(T));
  return operand;
}
/// A dense array of a slot of its own.
KUSARI_API View view_of(SlotIndex slot, const Shape& shape, const Strides& strides, Dtype dtype);

namespace detail {
KUSARI_API Step make_step(const char* name, KernelId id, const Device& device, Phase phase,
                          std::vector<Operand> operands, void (*run)(Backend::AnyKernel, const LaunchArgument*));
}  // namespace detail

/// A step that calls kernel K. `operands` in the order of its signature.
template <class K>
Step make_step(const Device& device, Phase phase, std::vector<Operand> operands) {
  return detail::make_step(K::kName, kernel_id<K>(), device, phase, std::move(operands),
                           &kusari::detail::Door<K, typename K::Signature>::run);
}

}  // namespace kusari::graphs
