#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/backend.h"
#include "kusari/framework/core/device.h"
#include "kusari/framework/static_graph/instance.h"

namespace kusari::graphs {

/// What a device replays by itself.
struct Instance::Graphs {
  /// Work runs step by step after each change of an address: so nothing is used for the first time while it is
  /// captured, and a program that gives another array at every call does not capture at every call.
  enum class State : uint8_t { cold, warm, captured };
  /// Steps between which the host has nothing to do, or one at which it has.
  struct Segment {
    Plan::Range steps;
    bool is_on_host;
    void* graph;
  };
  struct OfPhase {
    State state = State::cold;
    uint64_t seed = 0;
    Array base;         ///< on the device: the first of the random numbers that the phase draws
    uint64_t next = 0;  ///< what `base` holds after the work so far
    bool is_next_known = false;
    std::vector<Segment> segments;
    std::vector<SlotIndex> written;
    uint64_t refused_in = 0;  ///< the thread whose capture failed last; 0: none
    std::string name;         ///< for profilers
  };

  explicit Graphs(const Device& where) : device{where} {}
  Graphs(const Graphs&) = delete;
  Graphs& operator=(const Graphs&) = delete;
  ~Graphs() {
    for (OfPhase& phase : phases) forget(phase);
  }
  void forget(OfPhase& phase) noexcept {
    for (const Segment& segment : phase.segments) {
      if (segment.graph != nullptr) device.backend().destroy_graph(device.index(), segment.graph);
    }
    phase.segments.clear();
  }
  OfPhase& of(Phase phase) { return phases[static_cast<size_t>(phase)]; }

  Device device;
  OfPhase phases[kPhases];
};

}  // namespace kusari::graphs
