#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kusari/framework/core/device.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/static_graph/memory_planner.h"
#include "kusari/framework/static_graph/program.h"

namespace kusari::graphs {

/// A program that passes are done with: where its slots lie, and which arrays its kernels need. Shared by the instances
/// that run it, which it must outlive.
class KUSARI_API Plan {
 public:
  explicit Plan(Program program);
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const Program& program() const noexcept { return program_; }

  /// Where the memory of a slot comes from.
  enum class Place : uint8_t {
    bound,    ///< an array that the caller binds
    arena,    ///< part of the arena
    fixed,    ///< the instance's for good: constants; where a device replays graphs, inputs and exports as well
    renewed,  ///< new at every replay
  };
  struct Home {
    Place place = Place::arena;
    bool is_lent = false;          ///< the caller gets arrays of memory that the next replay overwrites
    Phase phase = Phase::forward;  ///< before which a Place::renewed slot gets its memory
    int32_t whole = -1;            ///< for Place::renewed: the view of all its elements; -1: there is none
    int32_t begin = 0, end = 0;    ///< its views
    int32_t memory = -1;           ///< for Place::arena and fixed: which of memories()
    size_t offset = 0;             ///< there, in the arena or among the fixed bytes
  };
  /// One for each slot.
  const std::vector<Home>& homes() const noexcept { return homes_; }

  /// What a device must hold for an instance.
  struct Memory {
    Device device;
    Packing packing;         ///< of the arena
    size_t fixed_bytes = 0;  ///< of the slots of Place::fixed
  };
  const std::vector<Memory>& memories() const noexcept { return memories_; }
  /// Of the arenas of all devices.
  size_t arena_bytes() const noexcept;
  /// Whether a device records the steps and replays them by itself.
  bool uses_graphs() const noexcept { return uses_graphs_; }

  /// The different views of the program, those of a slot side by side.
  const std::vector<View>& views() const noexcept { return views_; }
  /// Where the views of the steps' operands are among views(), in the order of steps, operands and their views; -1 for
  /// undefined ones.
  const std::vector<int32_t>& operand_views() const noexcept { return operand_views_; }

  /// The steps of a phase: [begin, end).
  struct Range {
    int32_t begin = 0, end = 0;
  };
  Range steps_of(Phase phase) const noexcept { return ranges_[static_cast<size_t>(phase)]; }
  /// Leaves and externals on which the steps of Phase::constant depend.
  const std::vector<SlotIndex>& constant_sources() const noexcept { return constant_sources_; }

  /// For arrays that a replay has overwritten: see Storage::stale.
  const char* stale_text() const noexcept { return stale_text_; }

 private:
  void find_ranges();
  void find_views();
  void find_homes();
  void find_memories();

  Program program_;
  std::vector<Home> homes_;
  std::vector<Memory> memories_;
  std::vector<View> views_;
  std::vector<int32_t> operand_views_;
  Range ranges_[3];
  std::vector<SlotIndex> constant_sources_;
  bool uses_graphs_ = false;
  const char* stale_text_ = nullptr;
};

}  // namespace kusari::graphs
