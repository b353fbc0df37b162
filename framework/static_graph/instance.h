#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/intrusive_ptr.h"
#include "kusari/framework/core/kernel.h"
#include "kusari/framework/static_graph/arena.h"
#include "kusari/framework/static_graph/plan.h"
#include "kusari/framework/static_graph/program.h"

namespace kusari::graphs {

/// A plan with memory of its own, which runs it. A call in flight has one:
///
///     instance.begin();
///     instance.bind(...);   // leaves and externals, inputs of the call
///     instance.run(Phase::forward, first);
///     y = instance.array_of(output);
///     instance.bind(...);   // output gradients
///     instance.run(Phase::backward, first);
///     gx = instance.array_of(gradient);
///     instance.unbind();    // from now on y and gx may be unique
///
/// After an exception, unbind() and begin() make it ready for the next call. One thread at a time.
class KUSARI_API Instance {
 public:
  /// `scratch`: memory for the intermediates that other instances use too, whose calls must be over when this one
  /// begins; null: memory of its own. A plan with Export::arena has memory of its own in any case.
  explicit Instance(const Plan& plan, std::shared_ptr<Scratch> scratch = nullptr);
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;
  ~Instance();

  const Plan& plan() const noexcept { return plan_; }

  /// How many references to the memory of a slot are those of who runs the instance: arrays that he hands out again and
  /// that nobody else has. They do not count as somebody who holds it: they get the numbers of the next call.
  uint32_t& own_references(SlotIndex slot) noexcept { return own_[static_cast<size_t>(slot)]; }

  /// Starts a call.
  void begin();
  /// `array` takes the place of the recorded array `recorded`, which has the same shape, dtype, strides and device;
  /// other views of the slot follow. Costs a few comparisons if it has it already. The instance shares the handle's
  /// body, so that it adds no reference to the storage: of inputs and of own exports until unbind(), of leaves and
  /// externals until another array is bound.
  void bind(const View& recorded, const Array& array);
  /// The storage of `array` takes the place of the slot's, from its first byte on: for leaves and externals, which
  /// cover whole storages.
  void bind(SlotIndex slot, const Array& array);
  /// The next run of the forward phase computes an own export into `array`, which equals the recorded array `recorded`
  /// in shape, dtype, strides and device, instead of a new one. For a slot of Place::renewed that the view covers.
  void give(const View& recorded, const Array& array);

  /// Runs the steps of a phase. `first`: the first of the random numbers that the phase draws. With the forward phase,
  /// what the last call left in memory that this one overwrites becomes stale, if somebody holds it; it may have been
  /// bound as an input before.
  void run(Phase phase, RandomState first);

  /// How far the device has got with a graph of the phase's steps: 0 at the start, or without graphs.
  int graph_stage(Phase phase) const noexcept;
  /// What a view holds, for the caller; undefined for an undefined view. Valid for an array of Place::renewed or
  /// of somebody else as long as it is held, for others until the next run of the forward phase.
  Array array_of(const View& view) const;
  /// Ends a call: lets go of inputs and of what belongs to the caller.
  void unbind() noexcept;

 private:
  static constexpr size_t kPhases = 3;
  struct Body;
  struct Bound;
  struct Call;
  struct Lists;
  struct Memory;
  struct Graphs;

  void place(SlotIndex slot, kusari::detail::Storage* storage, char* start) noexcept;
  void hold(SlotIndex slot, const Array& array, char* start);
  void copy_in(const View& recorded, const Array& array);
  void renew(Phase phase);
  void lend_again();
  void take_memory();
  void follow_scratch();
  void make_bodies();
  void make_calls();
  void make_graphs();
  void draw_from(Phase phase, RandomState first, const uint64_t* base) noexcept;
  void run_constants();
  void run_steps(Phase phase, RandomState first);
  void execute(Plan::Range range);
  void observe(Plan::Range range);

  void run_graphs(Phase phase, RandomState first);
  bool capture(Phase phase, uint64_t seed);
  void record(Phase phase, Plan::Range range, bool is_last, size_t& reached);
  void addresses_changed() noexcept;

  const Plan& plan_;
  std::shared_ptr<Scratch> scratch_;
  std::vector<Memory> memories_;
  std::vector<kusari::detail::Storage*> storages_;  // of each slot, as the kernels see it
  std::vector<Bound> bound_;                        // of each slot
  std::vector<Body> bodies_;                        // of each view
  std::vector<Array> arrays_;                       // of the views, then of the members of lists
  std::unique_ptr<Lists> lists_;
  struct Draws {
    int32_t begin = 0, end = 0;
  };
  std::vector<RandomState> random_;  // as the kernels get them
  std::vector<uint64_t> draws_;      // their offsets from the first number of the phase
  Draws draws_of_[kPhases];
  std::vector<LaunchArgument> arguments_;
  std::vector<SlotIndex> written_;  // by the calls, in their order
  std::vector<Call> calls_;         // of each step
  std::vector<uint32_t> own_;       // of each slot: see own_references
  std::vector<bool> is_given_;      // of each slot: see give
  // Slots that run() and unbind() go through.
  std::vector<SlotIndex> lent_, released_, renewed_[kPhases];
  struct Source {
    uint64_t storage_id;
    uint64_t generation;
  };
  std::vector<Source> sources_;  // what the constants were made of
  bool has_constants_ = false;
  std::unique_ptr<Graphs> graphs_;
};

}  // namespace kusari::graphs
