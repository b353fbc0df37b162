#include "kusari/framework/static_graph/instance_graphs.h"

#include <atomic>
#include <string>
#include <utility>

#include "kusari/framework/core/backend.h"
#include "kusari/framework/core/basic_kernels.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/profiler.h"
#include "kusari/framework/core/storage.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari::graphs {

namespace {

uint64_t random_count(const Program& program, Phase phase) {
  return phase == Phase::forward ? program.forward_random : phase == Phase::backward ? program.backward_random : 0;
}

uint64_t random_advance(const Program& program) { return program.forward_random + program.backward_random; }

// Never that of another thread: ids of the standard library come again when a thread has ended.
uint64_t this_thread() noexcept {
  static std::atomic<uint64_t> threads{0};
  static constinit thread_local uint64_t id = 0;
  if (id == 0) id = ++threads;
  return id;
}

// Rethrows what failed while the steps up to `reached` were captured, with the kernel's name; the number of steps: at
// the end.
[[noreturn]] void throw_not_captured(const Program& program, size_t reached) {
  const std::string where =
      "static graph '" + program.name + "', " +
      (reached < program.steps.size() ? "kernel '" + std::string(program.steps[reached].name) + "'"
                                      : "end of a capture") +
      ": ";
  try {
    throw;
  } catch (const StateError& error) {
    throw StateError(where + error.what());
  } catch (const DeviceError& error) {
    throw DeviceError(where + error.what());
  }
}

}  // namespace

void Instance::addresses_changed() noexcept {
  if (graphs_ == nullptr) return;
  for (Graphs::OfPhase& phase : graphs_->phases) {
    graphs_->forget(phase);
    phase.state = Graphs::State::cold;
  }
}

int Instance::graph_stage(Phase phase) const noexcept {
  return graphs_ == nullptr ? 0 : static_cast<int>(graphs_->of(phase).state);
}

void Instance::run_graphs(Phase phase, RandomState first) {
  using State = Graphs::State;
  Graphs::OfPhase& graphs = graphs_->of(phase);
  const bool draws = random_count(plan_.program(), phase) != 0;
  if (graphs.state == State::cold) {
    run_steps(phase, first);
    graphs.state = State::warm;
    return;
  }
  if (graphs.state == State::captured && draws && graphs.seed != first.seed) {
    graphs_->forget(graphs);
    graphs.state = State::warm;
  }
  if (graphs.state == State::warm && !capture(phase, first.seed)) return run_steps(phase, first);

  const Device& device = graphs_->device;
  if (draws && (!graphs.is_next_known || graphs.next != first.offset)) {
    launch<kernels::Fill>(device, Scalar(static_cast<int64_t>(first.offset)), graphs.base);
  }
  graphs.is_next_known = false;  // until all of it is under way
  for (const SlotIndex slot : graphs.written) storages_[static_cast<size_t>(slot)]->mark_written();
  for (const Graphs::Segment& segment : graphs.segments) {
    if (segment.is_on_host) {
      execute(segment.steps);
    } else {
      const profiler::Range range(graphs.name);
      device.backend().run_graph(device.index(), segment.graph);
    }
  }
  graphs.next = first.offset + random_advance(plan_.program());
  graphs.is_next_known = true;
}

// What libraries prepare at the first use is kept by thread, or depends on the memory at hand, so that steps which ran
// once may still have something to prepare: after a thread's first refusal they run once more before the next try.
// False: captured nothing.
bool Instance::capture(Phase phase, uint64_t seed) {
  Graphs::OfPhase& graphs = graphs_->of(phase);
  const Device& device = graphs_->device;
  const Plan::Range range = plan_.steps_of(phase);
  const std::vector<Step>& steps = plan_.program().steps;
  const bool draws = random_count(plan_.program(), phase) != 0;
  if (draws && !graphs.base.is_defined()) graphs.base = empty({1}, Dtype::int64, device);
  draw_from(phase, {.seed = seed}, draws ? graphs.base.data<uint64_t>() : nullptr);

  int32_t last_kernel = -1;
  graphs_->forget(graphs);
  for (int32_t i = range.begin; i < range.end; ++i) {
    const bool is_on_host = runs_on_host(steps[static_cast<size_t>(i)]);
    if (!is_on_host) last_kernel = i;
    if (is_on_host || graphs.segments.empty() || graphs.segments.back().is_on_host) {
      graphs.segments.push_back({.steps = {i, i + 1}, .is_on_host = is_on_host, .graph = nullptr});
    } else {
      graphs.segments.back().steps.end = i + 1;
    }
  }
  for (Graphs::Segment& segment : graphs.segments) {
    if (segment.is_on_host) continue;
    size_t reached = 0;
    device.backend().begin_graph(device.index());
    try {
      record(phase, segment.steps, segment.steps.end == last_kernel + 1, reached);
      segment.graph = device.backend().end_graph(device.index());
    } catch (...) {
      device.backend().abandon_graph(device.index());
      graphs_->forget(graphs);
      if (std::exchange(graphs.refused_in, this_thread()) != this_thread()) return false;
      throw_not_captured(plan_.program(), reached);
    }
  }
  graphs.seed = seed;
  graphs.state = Graphs::State::captured;
  graphs.refused_in = 0;
  return true;
}

void Instance::record(Phase phase, Plan::Range range, bool is_last, size_t& reached) {
  for (int32_t i = range.begin; i < range.end; ++i) {
    reached = static_cast<size_t>(i);
    execute({i, i + 1});
  }
  reached = plan_.program().steps.size();
  if (!is_last || random_count(plan_.program(), phase) == 0) return;
  // Usually nobody else draws between two calls, and the next one finds its first number here.
  const Array& base = graphs_->of(phase).base;
  launch<kernels::Pointwise<kernels::AddConst>>(
      base.device(), kernels::AddConst{static_cast<double>(random_advance(plan_.program()))}, base, base);
}

}  // namespace kusari::graphs
