#include "kusari/framework/static_graph/recorder.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/core/reporter.h"
#include "kusari/framework/static_graph/arena.h"

namespace kusari::graphs {

using kusari::detail::Storage;
using kusari::detail::VariableNode;
using Kind = LaunchArgument::Kind;

namespace {

constexpr const char* kHowToGoOn = "; or let such calls run define-by-run with {.fallback = true}";

// The elements of kept->array, with a storage that nothing else has.
template <class Kept>
Array alias(Kept* kept) {
  const Array& array = kept->array;
  return from_external(
      array.raw_data(), array.shape(), array.strides(), array.dtype(), array.device(),
      [](void* context) { delete static_cast<Kept*>(context); }, kept);
}

struct Given {
  Array array;
};

struct Loan {
  Array array;  // of a body that nothing else has, so that it is one reference to the storage
  std::shared_ptr<std::atomic<uint32_t>> count;
  Loan(Array kept, std::shared_ptr<std::atomic<uint32_t>> lent) : array{std::move(kept)}, count{std::move(lent)} {
    ++*count;
  }
  ~Loan() {
    array = Array();
    --*count;
  }
};

const void* observation_now() {
  Reporter* const reporter = get_current_reporter();
  return reporter != nullptr ? &reporter->observation() : nullptr;
}

std::string quoted(const char* name) { return std::string("kernel '") + name + "'"; }

}  // namespace

Recorder::Recorder(std::string name, bool fallback, const std::set<uint64_t>* earlier_escapes)
    : name_{std::move(name)}, fallback_{fallback}, earlier_escapes_{earlier_escapes} {
  recording_.program.name = name_;
}

// The constants that it holds were allocated under it.
Recorder::~Recorder() { stop_watching(); }

// --- phases ---------------------------------------------------------------------------------------------------------

Recorder::Scope::Scope(Recorder& recorder, Phase phase)
    : recorder_{recorder}, launches_{recorder}, capture_{&recorder}, functions_{recorder} {
  recorder.begin(phase);
}

Recorder::Scope::~Scope() { recorder_.end(); }

void Recorder::begin(Phase phase) {
  phase_ = phase;
  drawn_ = random_of(phase);
  observation_ = observation_now();
}

uint64_t& Recorder::random_of(Phase phase) {
  return phase == Phase::backward ? recording_.program.backward_random : recording_.program.forward_random;
}

void Recorder::end() {
  if (is_refused_) recording_ = {};
  random_of(phase_) = drawn_;
  draws_.clear();
  running_.clear();
  held_.clear();
  if (phase_ == Phase::forward) phase_ = Phase::backward;  // whose inputs may come now
  // Variables that the call made over parameters' memory have no handles any more.
  for (Recording::Leaf& leaf : candidates_) {
    if (is_refused_ || leaf.node->handles() == 0) continue;
    recording_.program.slots[static_cast<size_t>(leaf.view.slot)].kind = Slot::Kind::leaf;
    leaves_.push_back(std::move(leaf));
  }
  candidates_.clear();
}

Recorder::Input Recorder::input(const Array& array) {
  if (!array.is_defined()) return {};
  if (array.storage().stale != nullptr) kusari::detail::throw_stale("static_graph '" + name_ + "'", array);
  if (!device_) device_ = array.device();
  Input result{alias(new Given{array}), {}};
  const std::scoped_lock lock(mutex_);
  auto& storage = const_cast<Storage&>(result.array.storage());
  Known& known = known_[storage.id] = {.slot = add(Slot::Kind::input, storage)};
  result.view = locked_view(result.array);
  if (phase_ == Phase::forward) {
    recording_.inputs.push_back(result.view);
    storage.capture = id();
    known.storage = &storage;
  }
  held_.push_back(result.array);
  return result;
}

// --- memory ---------------------------------------------------------------------------------------------------------

void Recorder::allocated(Storage& storage) {
  if (is_refused_) return;
  const std::scoped_lock lock(mutex_);
  known_[storage.id] = {.storage = &storage, .function = running_.empty() ? "" : running_.back()};
  storage.capture = id();
}

void Recorder::freed(const Storage& storage) noexcept {
  const std::scoped_lock lock(mutex_);
  known_.erase(storage.id);
}

SlotIndex Recorder::add(Slot::Kind kind, const Storage& storage) {
  states_.push_back({.is_written = kind != Slot::Kind::intermediate});
  return recording_.program.add_slot(
      {.kind = kind, .device = storage.device, .bytes = storage.bytes, .storage_id = storage.id});
}

SlotIndex Recorder::slot_of(const Array& array) {
  const Storage& storage = array.storage();
  const auto found = known_.find(storage.id);
  if (found == known_.end()) {
    const SlotIndex slot = add(Slot::Kind::external, storage);
    known_[storage.id] = {.slot = slot};
    recording_.externals.push_back({.array = array, .slot = slot});
    if (earlier_escapes_ != nullptr && earlier_escapes_->contains(storage.id)) reads_escape_ = true;
    return slot;
  }
  Known& known = found->second;
  if (known.slot == kNoSlot) known.slot = add(Slot::Kind::intermediate, storage);
  return known.slot;
}

View Recorder::locked_view(const Array& array) {
  if (!array.is_defined()) return {};
  return {.slot = slot_of(array),
          .dtype = array.dtype(),
          .shape = array.shape(),
          .strides = array.strides(),
          .offset = static_cast<const char*>(array.raw_data()) - static_cast<const char*>(array.storage().data)};
}

View Recorder::view(const Array& array) {
  View result;
  {
    const std::scoped_lock lock(mutex_);
    result = locked_view(array);
  }
  if (std::exchange(reads_escape_, false)) {
    refuse(running() + " reads an array of shape " + to_string(array.shape()) +
           " that an earlier call computed and kept for this one; return it from the call, and pass it as an argument");
  }
  return result;
}

bool Recorder::knows(const Array& array) const {
  const std::scoped_lock lock(mutex_);
  return array.is_defined() && known_.contains(array.storage().id);
}

Array Recorder::lent(const Array& array) {
  if (is_refused_ || !array.is_defined()) return array;
  std::shared_ptr<std::atomic<uint32_t>> count;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = known_.find(array.storage().id);
    if (found == known_.end() || found->second.storage == nullptr) return array;
    count = found->second.lent;
    if (count == nullptr) count = found->second.lent = std::make_shared<std::atomic<uint32_t>>(0);
  }
  return alias(new Loan(array.as_strided(array.shape(), array.strides()), std::move(count)));
}

bool Recorder::is_lent(const Array& array) const {
  const std::scoped_lock lock(mutex_);
  const auto found = known_.find(array.storage().id);
  return found != known_.end() && found->second.lent != nullptr;
}

void Recorder::constant(const Array& array) {
  if (is_refused_ || !array.is_defined()) return;
  const View kept = view(array);
  for (Recording::External& external : recording_.externals) {
    if (external.slot == kept.slot) external.is_constant = true;
  }
}

// --- kernels --------------------------------------------------------------------------------------------------------

void Recorder::on_launch(const Launch& launch, void (*proceed)(const Launch&)) {
  if (GraphCapture::current() != static_cast<GraphCapture*>(this) || is_refused_) return proceed(launch);
  Step step = step_of(launch);
  if (runs_kernels_) {
    const ScopedGraphCapture within_kernel(nullptr);
    proceed(launch);
  }
  if (!is_refused_) recording_.program.steps.push_back(std::move(step));
}

Step Recorder::step_of(const Launch& launch) {
  if (!device_) device_ = launch.device;
  if (*device_ != launch.device) {
    refused(quoted(launch.name), "runs on '" + launch.device.name() + "', and what was before it on '" +
                                     device_->name() + "'; a static graph has one device");
  }
  Step step;
  step.phase = phase_;
  step.name = launch.name;
  step.id = launch.id;
  step.device = launch.device;
  step.kernel = launch.kernel;
  step.run = launch.run;
  step.operands.reserve(launch.arguments.size());
  for (const LaunchArgument& argument : launch.arguments) step.operands.push_back(operand(launch, argument));
  for (const Operand& operand : step.operands) {
    // What a kernel reads and changes may be memory that it only fills.
    if (operand.kind != Kind::in && operand.kind != Kind::in_list && operand.kind != Kind::device_scalar) continue;
    for (const View& read : operand.views) check_read(launch, read);
  }
  for_each_write(step, [&](const View& written) { note_written(launch, written); });
  return step;
}

Operand Recorder::operand(const Launch& launch, const LaunchArgument& argument) {
  Operand result;
  result.kind = argument.kind;
  switch (argument.kind) {
    case Kind::in:
    case Kind::out:
    case Kind::in_out:
    case Kind::device_scalar:
      result.views.push_back(view(*static_cast<const Array*>(argument.value)));
      break;
    case Kind::in_list:
    case Kind::out_list:
    case Kind::in_out_list: {
      const auto& arrays = *static_cast<const std::span<const Array>*>(argument.value);
      result.views.reserve(arrays.size());
      for (const Array& array : arrays) result.views.push_back(view(array));
      break;
    }
    case Kind::params:
    case Kind::workspace: {
      const auto* const first = static_cast<const std::byte*>(argument.value);
      result.bytes.assign(first, first + argument.bytes);
      break;
    }
    case Kind::random_state: {
      const RandomState state = in_phase(launch, *static_cast<const RandomState*>(argument.value));
      result.bytes = params_of(state).bytes;
      break;
    }
  }
  return result;
}

RandomState Recorder::in_phase(const Launch& launch, RandomState state) {
  for (auto draw = draws_.rbegin(); draw != draws_.rend(); ++draw) {
    const uint64_t from_first = state.offset - draw->taken.offset;
    const bool is_inside = from_first < draw->count || (from_first == 0 && draw->count == 0);
    if (draw->taken.seed != state.seed || state.offset < draw->taken.offset || !is_inside) continue;
    return {.seed = state.seed, .offset = draw->before + from_first};
  }
  refused(quoted(launch.name), "draws random numbers that were taken off the stream before the call");
  return state;
}

void Recorder::check_read(const Launch& launch, const View& view) {
  if (!view.is_defined() || states_[static_cast<size_t>(view.slot)].is_written || numel(view.shape) == 0) return;
  refused(quoted(launch.name), "reads an array of shape " + to_string(view.shape) +
                                   " that no kernel has written: filled through raw_data(), it would be empty in a "
                                   "replay");
}

void Recorder::note_written(const Launch& launch, const View& view) {
  const auto slot = static_cast<size_t>(view.slot);
  const Slot::Kind kind = recording_.program.slots[slot].kind;
  if (kind == Slot::Kind::input) {
    refused(quoted(launch.name), "writes into an argument of shape " + to_string(view.shape) + "; change a copy of it");
  }
  states_[slot].is_written = true;
  if (kind != Slot::Kind::external) return;
  for (Recording::External& external : recording_.externals) {
    if (external.slot != view.slot) continue;
    if (external.is_constant) {
      refused(quoted(launch.name), "writes into an array of shape " + to_string(view.shape) +
                                       " that replays keep as a constant; change a copy of it");
    }
    external.is_written = true;
  }
}

// --- beside the door ------------------------------------------------------------------------------------------------

void Recorder::host_reads(const char* call, const Array& array) {
  refused(call, "the host reads an array of shape " + to_string(array.shape()) +
                    ", which a replay cannot repeat; return the array, or put what is done with it into static_code");
}

void Recorder::host_writes(const char* call, const Array& array) {
  refused(call, "the host fills an array of shape " + to_string(array.shape()) +
                    ", and a replay would find these numbers again; pass it as an argument, or make it outside of the "
                    "call");
}

void Recorder::copied_between_devices(const Array& from, const Array& to) {
  refused("Array::to_device", "an array of shape " + to_string(from.shape()) + " is copied from '" +
                                  from.device().name() + "' to '" + to.device().name() +
                                  "'; a static graph has one device: copy it outside of the call");
}

void Recorder::drawn(RandomState taken, uint64_t count) {
  if (is_refused_) return;
  if (!draws_.empty() && draws_.front().taken.seed != taken.seed) {
    refused("random::reserve", "random numbers come from more than one stream");
  }
  draws_.push_back({taken, count, drawn_});
  drawn_ += count;
}

void Recorder::reported(std::span<const Reported> values, const void* observer) {
  if (is_refused_) return;
  if (observation_now() != observation_) {
    refused("report", "the call reports to a place of its own; put it into static_code");
    return;
  }
  for (const Reported& value : values) {
    if (value.is_absent) continue;
    if (value.array == nullptr) {
      refused("report", "'" + std::string(value.name) +
                            "' is a number of the host, which replays would report again; report an array, or put the "
                            "report into static_code");
      return;
    }
    recording_.reports.push_back({.observer = observer,
                                  .key = std::string(value.name),
                                  .weight = value.weight,
                                  .value = exported(*value.array, Export::own)});
    lent(*value.array);  // perhaps to nobody: whoever has it at the end keeps it for a later call
  }
}

void Recorder::used(const Variable& input) {
  if (is_refused_) return;
  VariableNode* const node = input.node();
  if (node->array.storage().stale != nullptr) kusari::detail::throw_stale(running(), node->array);
  const View place = view(node->array);
  if (is_refused_) return;
  const Slot::Kind kind = recording_.program.slots[static_cast<size_t>(place.slot)].kind;
  if (kind != Slot::Kind::external && kind != Slot::Kind::leaf) return;
  const FunctionNode* const creator = input.creator();
  if (creator == nullptr) {
    const bool is_new = used_.insert(node).second;
    if (!node->requires_grad) {
      if (is_new) watched_.push_back({IntrusivePtr<VariableNode>(node), node->array.storage().id});
    } else if (leaf_nodes_.insert(node).second) {
      candidates_.push_back({IntrusivePtr<VariableNode>(node), place});
    }
    return;
  }
  // A view of a parameter that the call itself has made, perhaps: then the call has used what it is made of.
  for (size_t i = 0; i < creator->input_count(); ++i) {
    const VariableNode* const of = creator->input_node(i);
    if (of != nullptr && !used_.contains(of)) {
      refuse(running() + " uses a variable of shape " + to_string(input.shape()) + " that F::" + creator->name() +
             " computed before the call; pass it as an argument");
      return;
    }
  }
  used_.insert(node);
}

void Recorder::kept(Variable& member) {
  if (is_refused_ || !member.is_defined()) return;
  const View value = view(member.array());
  const auto found =
      std::find_if(kept_.begin(), kept_.end(), [&](const Recording::Kept& k) { return k.member == &member; });
  Recording::Kept& kept = found != kept_.end() ? *found : kept_.emplace_back();
  kept = {.member = &member, .value = value, .node = member.node()};
}

void Recorder::on_replay(When when, Callable<void()> action) {
  if (is_refused_) return;
  if (when != When::here) {
    (when == When::before ? recording_.before : recording_.after).push_back(std::move(action));
    return;
  }
  Step step;
  step.phase = phase_;
  step.name = "static_code";
  step.code = std::move(action);
  recording_.program.steps.push_back(std::move(step));
}

void Recorder::require(Callable<bool()> holds) {
  if (!is_refused_) recording_.requirements.push_back(std::move(holds));
}

void Recorder::refused(const char* call, const std::string& reason) { refused(std::string(call), reason); }

void Recorder::refused(const std::string& call, const std::string& reason) {
  if (is_refused_) return;
  refuse(call + (running_.empty() ? "" : " inside " + running()) + ": " + reason);
}

void Recorder::refuse(const std::string& reason) {
  if (is_refused_) return;
  is_refused_ = true;
  reason_ = reason;
  if (!fallback_) throw StateError("static_graph '" + name_ + "': " + reason_ + kHowToGoOn);
}

// --- functions ------------------------------------------------------------------------------------------------------

std::string Recorder::running() const { return running_.empty() ? "the call" : std::string("F::") + running_.back(); }

void Recorder::enter(const FunctionNode& function) {
  running_.push_back(names_.insert(function.name()).first->c_str());
}

void Recorder::leave() noexcept {
  if (!running_.empty()) running_.pop_back();
}

void Recorder::forward_preprocess(const FunctionNode& function, const ArrayRefs&) { enter(function); }
void Recorder::forward_postprocess(const FunctionNode&, const ArrayRefs&, const Arrays&) { leave(); }
void Recorder::backward_preprocess(const FunctionNode& function, const Variables&) { enter(function); }
void Recorder::backward_postprocess(const FunctionNode&, const Variables&, const Variables&) { leave(); }

// --- the end --------------------------------------------------------------------------------------------------------

View Recorder::exported(const Array& array, Export how) {
  if (is_refused_ || !array.is_defined()) return {};
  const View result = view(array);
  if (is_refused_) return {};
  Slot& slot = recording_.program.slots[static_cast<size_t>(result.slot)];
  if (slot.kind != Slot::Kind::intermediate) return result;
  if (!states_[static_cast<size_t>(result.slot)].is_written && numel(result.shape) > 0) {
    refuse("the call's result of shape " + to_string(result.shape) + " was written by no kernel");
    return {};
  }
  if (slot.exported != Export::own) slot.exported = how;
  return result;
}

Recording Recorder::finish() {
  if (is_refused_) throw StateError("static_graph '" + name_ + "': the recording was refused: " + reason_);
  std::unordered_set<SlotIndex> kept_slots;  // members hold them, rightly
  for (const Recording::Kept& kept : kept_) {
    kept_slots.insert(kept.value.slot);
    Slot& slot = recording_.program.slots[static_cast<size_t>(kept.value.slot)];
    if (slot.kind == Slot::Kind::intermediate) slot.exported = Export::own;
  }
  for (Watched& each : watched_) {
    if (each.node->handles() == 0) continue;  // the call's own
    recording_.requirements.push_back([node = std::move(each.node), id = each.storage_id] {
      return node->handles() != 0 && !node->requires_grad && node->array.is_defined() && node->array.storage().id == id;
    });
  }
  const auto& slots = recording_.program.slots;
  const auto kind_of = [&](SlotIndex slot) { return slots[static_cast<size_t>(slot)].kind; };
  std::erase_if(recording_.externals,
                [&](const Recording::External& external) { return kind_of(external.slot) == Slot::Kind::leaf; });
  {
    const std::scoped_lock lock(mutex_);
    std::erase_if(known_, [&](const auto& entry) {
      const Known& known = entry.second;
      if (known.storage == nullptr || known.slot == kNoSlot) return true;
      if (kind_of(known.slot) == Slot::Kind::input && kept_slots.contains(known.slot)) return true;
      if (known.lent != nullptr && !kept_slots.contains(known.slot))
        return known.storage->references.load() <= known.lent->load();
      return slots[static_cast<size_t>(known.slot)].exported != Export::none;
    });
    for (const auto& [storage_id, known] : known_) {
      recording_.escapes.push_back({.slot = known.slot,
                                    .storage_id = storage_id,
                                    .function = *known.function != '\0' ? std::string("F::") + known.function : ""});
    }
  }
  std::sort(recording_.escapes.begin(), recording_.escapes.end(),
            [](const Recording::Escape& a, const Recording::Escape& b) { return a.slot < b.slot; });
  recording_.leaves = leaves_;
  recording_.kept = kept_;
  return std::move(recording_);
}

void Recorder::expire() {
  const char* const text =
      kept_text("was computed in an earlier call of static graph '" + name_ +
                "', which has been replayed since; return it from the call, or keep it with GraphCapture::kept");
  const std::scoped_lock lock(mutex_);
  for (const auto& [storage_id, known] : known_) known.storage->stale = text;
  known_.clear();
}

}  // namespace kusari::graphs
