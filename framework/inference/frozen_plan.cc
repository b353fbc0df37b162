#include "kusari/framework/inference/frozen_plan.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "kusari/framework/core/kernel.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/core/shape.h"
#include "kusari/framework/static_graph/memory_planner.h"
#include "kusari/framework/static_graph/summary.h"

namespace kusari::inference {

using graphs::Export;
using graphs::Instance;
using graphs::Phase;
using graphs::Plan;
using graphs::Program;
using graphs::Recording;
using graphs::Slot;
using graphs::SlotIndex;
using graphs::Step;
using graphs::View;

namespace {

size_t index_of(SlotIndex slot) { return static_cast<size_t>(slot); }

// All bytes of a slot.
View bytes_of(SlotIndex slot, size_t bytes) {
  const auto count = static_cast<int64_t>(bytes);
  return graphs::view_of(slot, {count}, {1}, Dtype::uint8);
}

// Slots that lie in memory which was there before the call, and that array.
std::vector<std::pair<SlotIndex, Array>> memory_of(const Recording& recording) {
  std::vector<std::pair<SlotIndex, Array>> result;
  for (const Recording::Leaf& leaf : recording.leaves) {
    const auto same = [&](const auto& known) { return known.first == leaf.view.slot; };
    if (std::ranges::none_of(result, same)) result.emplace_back(leaf.view.slot, leaf.node->array);
  }
  for (const Recording::External& external : recording.externals) result.emplace_back(external.slot, external.array);
  return result;
}

// Leaves the steps that compute what is needed.
void keep_steps_for(Program& program, std::vector<bool> is_needed) {
  std::vector<Step> kept;
  for (size_t i = program.steps.size(); i-- > 0;) {
    Step& step = program.steps[i];
    bool computes = false;
    graphs::for_each_write(step, [&](const View& view) { computes |= is_needed[index_of(view.slot)]; });
    if (!computes) continue;
    graphs::for_each_read(step, [&](const View& view) { is_needed[index_of(view.slot)] = true; });
    kept.push_back(std::move(step));
  }
  std::ranges::reverse(kept);
  program.steps = std::move(kept);
}

bool overlap(const Array& a, const Array& b) {
  const auto begin = [](const Array& array) { return static_cast<const char*>(array.storage().data); };
  return a.device() == b.device() && begin(a) < begin(b) + b.storage().bytes && begin(b) < begin(a) + a.storage().bytes;
}

std::string size_text(size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

}  // namespace

std::string FrozenPlan::why_not(const Recording& recording) {
  if (!recording.kept.empty()) return "it sets members of the model";
  for (const Step& step : recording.program.steps) {
    std::string reason;
    graphs::for_each_write(step, [&](const View& view) {
      if (recording.program.slots[index_of(view.slot)].kind == Slot::Kind::intermediate) return;
      reason = "kernel '" + std::string(step.name) + "' writes into an array of shape " + to_string(view.shape) +
               " that was there before the call";
    });
    if (!reason.empty()) return reason;
  }
  return {};
}

FrozenPlan::FrozenPlan(Recording recording, const StaticGraphPasses& passes, ConstantPool& pool)
    : inputs_{recording.inputs}, outputs_{recording.outputs}, plan_{frozen(recording, passes, pool)} {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const View& view = outputs_[i];
    is_own_.push_back(false);
    is_direct_.push_back(false);
    if (!view.is_defined()) continue;
    const Plan::Home& home = plan_.homes()[index_of(view.slot)];
    const auto of_slot = [&](const View& other) { return other.slot == view.slot; };
    is_own_[i] = home.place == Plan::Place::renewed;
    is_direct_[i] = is_own_[i] && home.whole >= 0 && plan_.views()[static_cast<size_t>(home.whole)] == view &&
                    std::ranges::count_if(outputs_, of_slot) == 1;
  }
}

// The program of a call, once what it needs of constants is there.
Program FrozenPlan::frozen(Recording& recording, const StaticGraphPasses& passes, ConstantPool& pool) {
  for (auto& [slot, array] : memory_of(recording)) {
    sources_.push_back({array, array.storage().generation.load(std::memory_order_relaxed)});
    bound_.push_back({slot, std::make_shared<const Array>(array)});
  }
  Program program = graphs::rewritten(std::move(recording.program), passes, log_);
  std::vector<bool> is_needed(program.slots.size());
  std::vector<Step> constant, others;
  for (Step& step : program.steps) {
    if (step.phase == Phase::constant) {
      constant.push_back(std::move(step));
      continue;
    }
    graphs::for_each_read(step, [&](const View& view) { is_needed[index_of(view.slot)] = true; });
    others.push_back(std::move(step));
  }
  for (const View& output : outputs_) {
    if (output.is_defined()) is_needed[index_of(output.slot)] = true;
  }
  program.steps = std::move(constant);
  compute_constants(program, is_needed, pool);
  program.steps = std::move(others);
  for (Slot& slot : program.slots) {
    if (slot.kind == Slot::Kind::constant) slot.kind = Slot::Kind::external;
  }
  std::erase_if(bound_, [&](const Bound& bound) { return !is_needed[index_of(bound.slot)]; });
  return program;
}

void FrozenPlan::compute_constants(Program program, const std::vector<bool>& is_needed, ConstantPool& pool) {
  if (program.steps.empty()) return;
  const std::scoped_lock lock(pool.mutex());
  std::vector<int64_t> origins(program.slots.size(), ConstantPool::kNoOrigin);
  // Constants that are there already are worked out again where others follow from them: what steps write is not bound.
  const std::vector<Bound> given = bound_;
  for (const Bound& bound : given) origins[index_of(bound.slot)] = pool.origin_of(*bound.array);
  for (const Step& step : program.steps) pool.note(program, step, origins);

  std::vector<bool> is_missing(program.slots.size());
  std::vector<SlotIndex> results;
  for (size_t i = 0; i < program.slots.size(); ++i) {
    if (program.slots[i].kind != Slot::Kind::constant || !is_needed[i]) continue;
    const auto slot = static_cast<SlotIndex>(i);
    constant_bytes_ += program.slots[i].bytes;
    if (auto known = pool.find(origins[i])) {
      bound_.push_back({slot, std::move(known)});
      shared_bytes_ += program.slots[i].bytes;
    } else {
      is_missing[i] = true;
      results.push_back(slot);
    }
  }
  keep_steps_for(program, std::move(is_missing));
  constant_kernels_ = program.steps.size();
  if (results.empty()) return;
  for (Step& step : program.steps) step.phase = Phase::forward;
  for (Slot& slot : program.slots) {
    slot.exported = Export::none;
    if (slot.kind == Slot::Kind::constant) slot.kind = Slot::Kind::intermediate;
  }
  for (const SlotIndex slot : results) program.slots[index_of(slot)].exported = Export::own;
  std::vector<size_t> sizes;
  for (const SlotIndex slot : results) sizes.push_back(program.slots[index_of(slot)].bytes);
  std::string key;
  if (pool.cache().is_on()) {
    ConstantCache::Sources sources(program.slots.size());
    for (const Bound& bound : given) sources[index_of(bound.slot)] = *bound.array;
    key = ConstantCache::key_of(program, sources);
  }
  if (!key.empty()) {
    if (const auto known = pool.cache().read(key, sizes)) {
      for (size_t i = 0; i < results.size(); ++i) {
        bound_.push_back({results[i], pool.keep(origins[index_of(results[i])], (*known)[i])});
      }
      is_from_cache_ = true;
      return;
    }
  }
  const Plan plan(std::move(program));
  Instance instance(plan);
  instance.begin();
  for (const Bound& bound : given) instance.bind(bound.slot, *bound.array);
  instance.run(Phase::forward, RandomState());
  std::vector<Array> computed;
  for (const SlotIndex slot : results) {
    const Array array = instance.array_of(bytes_of(slot, plan.program().slots[index_of(slot)].bytes));
    const bool is_lent = plan.homes()[index_of(slot)].is_lent;
    computed.push_back(is_lent ? array.copy() : array);
    bound_.push_back({slot, pool.keep(origins[index_of(slot)], computed.back())});
  }
  if (!key.empty()) pool.cache().write(key, computed);
}

std::unique_ptr<Instance> FrozenPlan::make_instance(std::shared_ptr<graphs::Scratch> scratch) const {
  auto instance = std::make_unique<Instance>(plan_, std::move(scratch));
  for (const Bound& bound : bound_) instance->bind(bound.slot, *bound.array);
  return instance;
}

bool FrozenPlan::is_outdated() const noexcept {
  return std::ranges::any_of(sources_, [](const Source& source) {
    return source.array.storage().generation.load(std::memory_order_relaxed) != source.generation;
  });
}

bool FrozenPlan::writes_directly(size_t output, const Array& array, std::span<const Array> inputs) const {
  const View& view = outputs_[output];
  return is_direct_[output] && array.strides() == view.strides &&
         array.device() == plan_.program().slots[index_of(view.slot)].device &&
         std::ranges::none_of(inputs, [&](const Array& input) { return overlap(input, array); });
}

Arrays FrozenPlan::run(Instance& instance, std::span<const Array> inputs, const Arrays* given) const {
  struct Unbind {
    Instance& instance;
    ~Unbind() { instance.unbind(); }
  } const unbind{instance};
  instance.begin();
  for (size_t i = 0; i < inputs_.size(); ++i) instance.bind(inputs_[i], inputs[i]);
  SmallVector<bool, 8> is_written(outputs_.size());
  for (size_t i = 0; given != nullptr && i < outputs_.size(); ++i) {
    is_written[i] = outputs_[i].is_defined() && writes_directly(i, (*given)[i], inputs);
    if (is_written[i]) instance.give(outputs_[i], (*given)[i]);
  }
  const uint64_t drawn = plan_.program().forward_random;
  instance.run(Phase::forward, drawn == 0 ? RandomState() : random::reserve(drawn));
  Arrays results;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    results.push_back(instance.array_of(outputs_[i]));
    Array& result = results.back();
    if (!result.is_defined() || is_written[i]) continue;
    // What is an input's is read before a result is written into the inputs' memory.
    const auto shares = [&](const Array& other) { return other.is_defined() && overlap(result, other); };
    const bool is_in_the_way = given != nullptr && std::ranges::any_of(*given, shares);
    const bool is_twice = given == nullptr && std::any_of(results.begin(), results.end() - 1, shares);
    if (is_in_the_way || is_twice || (given == nullptr && !is_own_[i])) result = result.copy();
  }
  if (given == nullptr) return results;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (!is_written[i] && outputs_[i].is_defined()) (*given)[i].copy_from(results[i]);
  }
  return {};
}

std::string FrozenPlan::summary() const {
  const graphs::Packing packing = plan_.memories().empty() ? graphs::Packing() : plan_.memories().front().packing;
  std::string text = graphs::summary(plan_.program(), packing, log_);
  if (constant_bytes_ > 0) {
    text += "  constants: " + std::to_string(constant_kernels_) +
            (is_from_cache_ ? " kernels not run, for a file of the cache has the results, " : " kernels run once, ") +
            size_text(constant_bytes_) + ", of which " + size_text(shared_bytes_) + " were there for other inputs\n";
  }
  return text;
}

}  // namespace kusari::inference
