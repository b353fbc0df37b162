#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/static_graph/program.h"

namespace kusari::graphs {

/// A use of a slot by a step.
struct Access {
  int32_t step;
  bool reads;
  bool writes;
};

/// Who reads and writes the slots of a program as it was when this was made.
class KUSARI_API Dependencies {
 public:
  explicit Dependencies(const Program& program);

  /// The steps that use the slot, in order, each once. A code step (static_code) counts as one that reads and writes
  /// every slot that the host can reach: see is_reachable.
  std::span<const Access> accesses(SlotIndex slot) const noexcept;
  /// Whether memory outside the arena or an exported result, which code on the host or the caller may see.
  bool is_reachable(SlotIndex slot) const noexcept;
  int count_reads(SlotIndex slot) const noexcept;   ///< steps that read it
  int count_writes(SlotIndex slot) const noexcept;  ///< steps that write it

  /// Whether a step in (after, before), both excluded, writes / reads or writes the slot.
  bool is_written_between(SlotIndex slot, int32_t after, int32_t before) const noexcept;
  bool is_used_between(SlotIndex slot, int32_t after, int32_t before) const noexcept;
  /// The last step before `step` that writes the slot; -1: none.
  int32_t last_write_before(SlotIndex slot, int32_t step) const noexcept;

  /// The step that reads an intermediate slot, not exported, that one step writes and only one other uses. -1 for any
  /// other slot.
  int32_t only_reader(SlotIndex slot) const noexcept;

 private:
  std::vector<Access> accesses_;
  std::vector<int32_t> begins_;  ///< of each slot in accesses_, and the end
  std::vector<bool> reachable_;
};

/// The bytes of its slot that a view covers, from the first to one past the last. Empty for a view without elements.
struct ByteRange {
  int64_t begin = 0;
  int64_t end = 0;
};
KUSARI_API ByteRange bytes_of(const View& view);
/// Whether the view is every byte of its slot, each once.
KUSARI_API bool is_whole(const Program& program, const View& view);
/// Whether the two may have bytes in common.
KUSARI_API bool may_overlap(const View& a, const View& b);

/// Whether the step gives the same whenever its inputs are the same, and writes whole slots of intermediates that no
/// other step writes and nobody outside sees, at least one.
KUSARI_API bool is_repeatable(const Program& program, const Dependencies& dependencies, const Step& step);

/// Drops the steps that are marked. Returns how many.
KUSARI_API int erase_steps(Program& program, const std::vector<bool>& is_dropped);

}  // namespace kusari::graphs
