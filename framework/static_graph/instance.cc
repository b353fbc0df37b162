#include "kusari/framework/static_graph/instance.h"

#include <algorithm>
#include <string>
#include <utility>

#include "kusari/framework/core/backend.h"
#include "kusari/framework/core/basic_kernels.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/memory.h"
#include "kusari/framework/core/storage.h"
#include "kusari/framework/static_graph/instance_graphs.h"

namespace kusari::graphs {

using kusari::detail::ArrayBody;
using kusari::detail::Storage;
using Kind = LaunchArgument::Kind;
using Place = Plan::Place;

/// The array of a view, as kernels see it. It counts no reference to its storage: the instance holds that, by the
/// slot. The handles in arrays_ never hold the last reference to the body.
struct Instance::Body : ArrayBody {
  int64_t offset = 0;  // bytes from the slot's start
};

/// What somebody else's array says of a slot.
struct Instance::Bound {
  Array holder;           ///< keeps the storage
  char* start = nullptr;  ///< where its byte 0 is
};

struct Instance::Call {
  void (*run)(Backend::AnyKernel, const LaunchArgument*);
  Backend::AnyKernel kernel;
  const LaunchArgument* arguments;
  const SlotIndex *written, *written_end;
};

/// What the arguments of lists point to.
struct Instance::Lists {
  std::vector<InList> in;
  std::vector<OutList> out;
  std::vector<InOutList> in_out;
};

struct Instance::Memory {
  IntrusivePtr<Arena> arena;  ///< null with a Scratch
  IntrusivePtr<Arena> fixed;
  char* start = nullptr;  ///< of the arena
};

namespace {

const Array kUndefined;

void run_code(Backend::AnyKernel, const LaunchArgument* code) {
  (*static_cast<const Callable<void()>*>(code->value))();
}

void fill_body(ArrayBody& body, const View& view, Storage* storage, char* start) {
  body.dtype = view.dtype;
  body.shape.assign(view.shape);
  body.strides.assign(view.strides);
  body.size = numel(view.shape);
  body.contiguous = kusari::detail::strides_contiguous(view.shape, view.strides);
  body.storage = storage;
  body.data = start + view.offset;
}

// A view without the elements that are the same again: those of axes of stride 0.
Array without_repeats(const Array& array) {
  Array distinct = array;
  for (int axis = 0; axis < array.ndim(); ++axis) {
    if (array.strides()[axis] == 0 && array.shape()[axis] > 1) distinct = distinct.slice(axis, 0, 1);
  }
  return distinct;
}

// The arrays belong to whoever gives them, but kernels write to them.
Storage* storage_of(const Array& array) { return const_cast<Storage*>(&array.storage()); }

}  // namespace

Instance::Instance(const Plan& plan, std::shared_ptr<Scratch> scratch) : plan_{plan}, scratch_{std::move(scratch)} {
  const std::vector<Plan::Home>& homes = plan.homes();
  storages_.resize(homes.size());
  bound_ = std::vector<Bound>(homes.size());
  is_given_.resize(homes.size());
  own_.resize(homes.size());
  for (size_t i = 0; i < homes.size(); ++i) {
    const auto slot = static_cast<SlotIndex>(i);
    if (homes[i].is_lent) lent_.push_back(slot);
    if (homes[i].is_lent && homes[i].place == Place::arena) scratch_ = nullptr;
    if (homes[i].place == Place::renewed) renewed_[static_cast<size_t>(homes[i].phase)].push_back(slot);
    if (homes[i].place == Place::renewed || plan.program().slots[i].kind == Slot::Kind::input) {
      released_.push_back(slot);
    }
  }
  make_bodies();
  make_calls();
  take_memory();
  if (plan.uses_graphs()) make_graphs();
}

Instance::~Instance() {
  const std::vector<Plan::Home>& homes = plan_.homes();
  for (size_t slot = 0; slot < homes.size(); ++slot) {
    const bool is_own = homes[slot].place == Place::arena || homes[slot].place == Place::fixed;
    if (is_own && storages_[slot] != nullptr) storages_[slot]->release();
  }
}

void Instance::make_graphs() {
  const std::vector<Step>& steps = plan_.program().steps;
  const auto kernel = std::find_if(steps.begin(), steps.end(), [](const Step& step) { return !step.is_code(); });
  graphs_ = std::make_unique<Graphs>(kernel->device);
  for (const Phase phase : {Phase::forward, Phase::backward}) {
    const Plan::Range range = plan_.steps_of(phase);
    graphs_->of(phase).name = "graph '" + plan_.program().name + (phase == Phase::forward ? "' forward" : "' backward");
    std::vector<SlotIndex>& written = graphs_->of(phase).written;
    for (int32_t i = range.begin; i < range.end; ++i) {
      const Call& call = calls_[static_cast<size_t>(i)];
      written.insert(written.end(), call.written, call.written_end);
    }
    std::sort(written.begin(), written.end());
    written.erase(std::unique(written.begin(), written.end()), written.end());
  }
}

void Instance::make_bodies() {
  const std::vector<View>& views = plan_.views();
  bodies_ = std::vector<Body>(views.size());
  size_t in_lists = 0;
  for (const Step& step : plan_.program().steps) {
    for (const Operand& operand : step.operands) {
      const bool is_list =
          operand.kind == Kind::in_list || operand.kind == Kind::out_list || operand.kind == Kind::in_out_list;
      if (is_list) in_lists += operand.views.size();
    }
  }
  arrays_.reserve(views.size() + in_lists);
  for (size_t i = 0; i < views.size(); ++i) {
    fill_body(bodies_[i], views[i], nullptr, nullptr);
    bodies_[i].offset = views[i].offset;
    arrays_.push_back(Array(IntrusivePtr<ArrayBody>(&bodies_[i])));
  }
}

void Instance::make_calls() {
  const std::vector<Step>& steps = plan_.program().steps;
  size_t arguments = 0, written = 0, random = 0;
  lists_ = std::make_unique<Lists>();
  size_t counts[3] = {};
  for (const Step& step : steps) {
    arguments += step.is_code() ? 1 : step.operands.size();
    for_each_write(step, [&](const View&) { ++written; });
    for (const Operand& operand : step.operands) {
      random += operand.kind == Kind::random_state ? 1 : 0;
      counts[0] += operand.kind == Kind::in_list ? 1 : 0;
      counts[1] += operand.kind == Kind::out_list ? 1 : 0;
      counts[2] += operand.kind == Kind::in_out_list ? 1 : 0;
    }
  }
  // Addresses of elements are kept.
  arguments_.reserve(arguments);
  written_.reserve(written);
  random_.reserve(random);
  lists_->in.reserve(counts[0]);
  lists_->out.reserve(counts[1]);
  lists_->in_out.reserve(counts[2]);

  const int32_t* view = plan_.operand_views().data();
  const auto array_at = [&](int32_t index) -> const Array& {
    return index < 0 ? kUndefined : arrays_[static_cast<size_t>(index)];
  };
  const auto list_of = [&](const Operand& operand) {
    const size_t first = arrays_.size();
    for (size_t i = 0; i < operand.views.size(); ++i) arrays_.push_back(array_at(*view++));
    return std::span<const Array>(arrays_.data() + first, operand.views.size());
  };
  const auto value_of = [&](const Operand& operand) -> const void* {
    switch (operand.kind) {
      case Kind::in:
      case Kind::out:
      case Kind::in_out:
      case Kind::device_scalar:
        return &array_at(*view++);
      case Kind::in_list:
        return &lists_->in.emplace_back(list_of(operand));
      case Kind::out_list:
        return &lists_->out.emplace_back(list_of(operand));
      case Kind::in_out_list:
        return &lists_->in_out.emplace_back(list_of(operand));
      case Kind::random_state: {
        RandomState& state = random_.emplace_back();
        std::memcpy(&state, operand.bytes.data(), sizeof(RandomState));
        draws_.push_back(state.offset);
        return &state;
      }
      case Kind::params:
      case Kind::workspace:
        break;
    }
    return operand.bytes.data();
  };

  calls_.reserve(steps.size());
  for (const Step& step : steps) {
    Draws& draws = draws_of_[static_cast<size_t>(step.phase)];
    if (draws.begin == draws.end) draws.begin = static_cast<int32_t>(draws_.size());
    Call call{step.run, step.kernel, arguments_.data() + arguments_.size(), nullptr, nullptr};
    if (step.is_code()) {
      call.run = run_code;
      arguments_.push_back({Kind::params, &step.code, 0});
    }
    for (const Operand& operand : step.operands) {
      arguments_.push_back({operand.kind, value_of(operand), operand.bytes.size()});
    }
    draws.end = static_cast<int32_t>(draws_.size());
    const SlotIndex* const first = written_.data() + written_.size();
    for_each_write(step, [&](const View& v) {
      if (std::find(first, std::as_const(written_).data() + written_.size(), v.slot) ==
          written_.data() + written_.size()) {
        written_.push_back(v.slot);
      }
    });
    call.written = first;
    call.written_end = written_.data() + written_.size();
    calls_.push_back(call);
  }
}

void Instance::take_memory() {
  for (const Plan::Memory& needed : plan_.memories()) {
    Memory& memory = memories_.emplace_back();
    // Slots without bytes want an address too.
    const size_t least = Arena::alignment(needed.device);
    memory.fixed = Arena::create(needed.device, std::max(needed.fixed_bytes, least));
    if (scratch_ != nullptr) {
      memory.start = scratch_->reserve(needed.device, std::max(needed.packing.bytes, least));
    } else {
      memory.arena = Arena::create(needed.device, std::max(needed.packing.bytes, least));
      memory.start = memory.arena->data();
    }
  }
  for (size_t i = 0; i < storages_.size(); ++i) {
    const Plan::Home& home = plan_.homes()[i];
    if (home.place != Place::arena && home.place != Place::fixed) continue;
    const Slot& slot = plan_.program().slots[i];
    const Memory& memory = memories_[static_cast<size_t>(home.memory)];
    const bool is_fixed = home.place == Place::fixed;
    char* const data = (is_fixed ? memory.fixed->data() : memory.start) + home.offset;
    Storage* const storage =
        make_storage(slot.device, data, slot.bytes, is_fixed ? memory.fixed.get() : memory.arena.get());
    place(static_cast<SlotIndex>(i), storage, data);
  }
}

void Instance::follow_scratch() {
  for (size_t m = 0; m < memories_.size(); ++m) {
    const Plan::Memory& needed = plan_.memories()[m];
    char* const start =
        scratch_->reserve(needed.device, std::max(needed.packing.bytes, Arena::alignment(needed.device)));
    if (start == memories_[m].start) continue;
    memories_[m].start = start;
    for (size_t i = 0; i < storages_.size(); ++i) {
      const Plan::Home& home = plan_.homes()[i];
      if (home.place != Place::arena || home.memory != static_cast<int32_t>(m)) continue;
      storages_[i]->data = start + home.offset;
      place(static_cast<SlotIndex>(i), storages_[i], start + home.offset);
    }
    addresses_changed();
  }
}

void Instance::place(SlotIndex slot, Storage* storage, char* start) noexcept {
  storages_[static_cast<size_t>(slot)] = storage;
  const Plan::Home& home = plan_.homes()[static_cast<size_t>(slot)];
  for (int32_t i = home.begin; i < home.end; ++i) {
    Body& body = bodies_[static_cast<size_t>(i)];
    body.storage = storage;
    body.data = start + body.offset;
  }
}

void Instance::hold(SlotIndex slot, const Array& array, char* start) {
  const auto i = static_cast<size_t>(slot);
  Bound& bound = bound_[i];
  Storage* const storage = storage_of(array);
  if (storage->stale != nullptr) [[unlikely]]
    kusari::detail::throw_stale("static graph '" + plan_.program().name + "'", array);
  const bool is_there = storages_[i] == storage && bound.start == start;
  if (is_there && bound.holder.is_defined()) return;
  bound.holder = array;
  if (is_there) return;  // the pools like to give the same address again
  bound.start = start;
  place(slot, storage, start);
  addresses_changed();
}

void Instance::bind(const View& recorded, const Array& array) {
  char* const start = static_cast<char*>(array.raw_data()) - recorded.offset;
  if (plan_.homes()[static_cast<size_t>(recorded.slot)].place == Place::bound) return hold(recorded.slot, array, start);
  copy_in(recorded, array);
  bound_[static_cast<size_t>(recorded.slot)] = {array, start};
}

void Instance::bind(SlotIndex slot, const Array& array) { hold(slot, array, static_cast<char*>(array.storage().data)); }

void Instance::give(const View& recorded, const Array& array) {
  hold(recorded.slot, array, static_cast<char*>(array.raw_data()) - recorded.offset);
  is_given_[static_cast<size_t>(recorded.slot)] = true;
}

void Instance::copy_in(const View& recorded, const Array& array) {
  if (array.size() == 0) return;
  const auto slot = static_cast<size_t>(recorded.slot);
  auto* const body = memory::create<ArrayBody>();
  storages_[slot]->retain();
  fill_body(*body, recorded, storages_[slot], static_cast<char*>(storages_[slot]->data));
  const Array here(IntrusivePtr<ArrayBody>::adopt(body));
  if (here.raw_data() != array.raw_data()) {
    launch<kernels::Copy>(here.device(), without_repeats(array), without_repeats(here));
  }
}

void Instance::begin() {
  if (scratch_ != nullptr) follow_scratch();
}

void Instance::lend_again() {
  for (const SlotIndex slot : lent_) {
    Storage* const storage = storages_[static_cast<size_t>(slot)];
    if (storage->references.load(std::memory_order_acquire) == 1 + own_[static_cast<size_t>(slot)]) continue;
    const Plan::Home& home = plan_.homes()[static_cast<size_t>(slot)];
    const Memory& memory = memories_[static_cast<size_t>(home.memory)];
    Arena* const keeper = home.place == Place::fixed ? memory.fixed.get() : memory.arena.get();
    auto* const data = static_cast<char*>(storage->data);
    place(slot, make_storage(storage->device, data, storage->bytes, keeper), data);
    storage->stale = plan_.stale_text();
    storage->release();
  }
}

void Instance::renew(Phase phase) {
  for (const SlotIndex slot : renewed_[static_cast<size_t>(phase)]) {
    const auto i = static_cast<size_t>(slot);
    if (is_given_[i]) continue;
    const Slot& recorded = plan_.program().slots[i];
    const int32_t whole = plan_.homes()[i].whole;
    Array& holder = bound_[i].holder;
    if (whole < 0) {
      holder = empty({static_cast<int64_t>(recorded.bytes)}, Dtype::uint8, recorded.device);
    } else {
      const View& view = plan_.views()[static_cast<size_t>(whole)];
      holder = bodies_[static_cast<size_t>(whole)].contiguous
                   ? empty(view.shape, view.dtype, recorded.device)
                   : empty_strided(view.shape, view.strides, view.dtype, recorded.device);
    }
    bound_[i].start = static_cast<char*>(holder.raw_data());
    place(slot, storage_of(holder), bound_[i].start);
  }
}

Array Instance::array_of(const View& view) const {
  if (!view.is_defined()) return Array();
  const auto slot = static_cast<size_t>(view.slot);
  const Bound& bound = bound_[slot];
  const bool is_held = bound.holder.is_defined();
  Storage* const storage = is_held ? storage_of(bound.holder) : storages_[slot];
  char* const start = is_held ? bound.start : static_cast<char*>(storage->data);
  if (is_held && bound.holder.raw_data() == start + view.offset && bound.holder.dtype() == view.dtype &&
      bound.holder.shape() == view.shape && bound.holder.strides() == view.strides) {
    return bound.holder;
  }
  auto* const body = memory::create<ArrayBody>();
  storage->retain();
  fill_body(*body, view, storage, start);
  return Array(IntrusivePtr<ArrayBody>::adopt(body));
}

void Instance::unbind() noexcept {
  for (const SlotIndex slot : released_) {
    bound_[static_cast<size_t>(slot)].holder = Array();
    is_given_[static_cast<size_t>(slot)] = false;
  }
}

void Instance::run(Phase phase, RandomState first) {
  if (phase == Phase::forward) {
    lend_again();
    run_constants();
  }
  renew(phase);
  if (graphs_ != nullptr && kusari::detail::t_launch_observer == nullptr) return run_graphs(phase, first);
  run_steps(phase, first);
}

void Instance::run_constants() {
  const Plan::Range range = plan_.steps_of(Phase::constant);
  if (range.begin == range.end) return;
  const std::vector<SlotIndex>& slots = plan_.constant_sources();
  for (size_t i = 0; i < slots.size() && has_constants_; ++i) {
    const Storage& storage = *storages_[static_cast<size_t>(slots[i])];
    has_constants_ = sources_[i].storage_id == storage.id &&
                     sources_[i].generation == storage.generation.load(std::memory_order_relaxed) &&
                     !storage.is_exposed.load(std::memory_order_relaxed);
  }
  if (has_constants_) return;
  execute(range);
  sources_.clear();
  for (const SlotIndex slot : slots) {
    const Storage& storage = *storages_[static_cast<size_t>(slot)];
    sources_.push_back({storage.id, storage.generation.load(std::memory_order_relaxed)});
  }
  has_constants_ = true;
}

void Instance::draw_from(Phase phase, RandomState first, const uint64_t* base) noexcept {
  const Draws draws = draws_of_[static_cast<size_t>(phase)];
  for (int32_t i = draws.begin; i < draws.end; ++i) {
    random_[static_cast<size_t>(i)] = {
        .seed = first.seed, .offset = first.offset + draws_[static_cast<size_t>(i)], .base = base};
  }
}

void Instance::run_steps(Phase phase, RandomState first) {
  draw_from(phase, first, nullptr);
  execute(plan_.steps_of(phase));
}

void Instance::execute(Plan::Range range) {
  if (kusari::detail::t_launch_observer != nullptr) [[unlikely]]
    return observe(range);
  Storage* const* const storages = storages_.data();
  const Call* const end = calls_.data() + range.end;
  for (const Call* call = calls_.data() + range.begin; call != end; ++call) {
    for (const SlotIndex* slot = call->written; slot != call->written_end; ++slot) {
      storages[static_cast<size_t>(*slot)]->mark_written();
    }
    call->run(call->kernel, call->arguments);
  }
}

// Profilers and counters see the kernels of a replay as they see any others.
void Instance::observe(Plan::Range range) {
  for (int32_t i = range.begin; i < range.end; ++i) {
    const Step& step = plan_.program().steps[static_cast<size_t>(i)];
    const Call& call = calls_[static_cast<size_t>(i)];
    for (const SlotIndex* slot = call.written; slot != call.written_end; ++slot) {
      storages_[static_cast<size_t>(*slot)]->mark_written();
    }
    if (step.is_code()) {
      step.code();
    } else {
      observe_launch({step.name, step.id, step.device, call.kernel, {call.arguments, step.operands.size()}, call.run});
    }
  }
}

}  // namespace kusari::graphs
