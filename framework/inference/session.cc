#include "kusari/framework/inference/session.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <set>

#include "kusari/framework/autograd/function_hook.h"
#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/environment.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/core/memory.h"
#include "kusari/framework/core/profiler.h"
#include "kusari/framework/core/type_name.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/links/link_walk.h"

namespace kusari::inference {

using graphs::Instance;
using graphs::Recorder;
using graphs::Recording;
using graphs::View;
using kusari::detail::LinkMember;
using kusari::detail::LinkWalk;
using kusari::detail::MemberKind;

namespace {

/// Whether the elements are where those of an array of these strides are: of an axis of one element, any stride is.
bool has_places(const Array& array, const Strides& strides) {
  for (int axis = 0; axis < array.ndim(); ++axis) {
    if (array.size() > 0 && array.shape()[axis] != 1 && array.strides()[axis] != strides[axis]) return false;
  }
  return true;
}

// The settings under which a model runs here: those of the session's maker, in test mode and without a graph.
class Surroundings {
 public:
  explicit Surroundings(const ConfigSnapshot& settings) {
    settings.install();
    config().train = false;
    config().enable_backprop = false;
  }
  Surroundings(const Surroundings&) = delete;
  Surroundings& operator=(const Surroundings&) = delete;
  ~Surroundings() { before_.install(); }

 private:
  const ConfigSnapshot before_;
  const ScopedInputCaster no_autocast_{nullptr};
};

std::string array_text(const Array& array) {
  return std::string(kusari::name(array.dtype())) + ' ' + to_string(array.shape());
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Calls f; what it throws about arguments begins with `text`.
template <class F>
void explained(const std::string& text, F&& f) {
  try {
    f();
  } catch (const TypeError& error) {
    throw TypeError(text + error.what());
  } catch (const ValueError& error) {
    throw ValueError(text + error.what());
  } catch (const IndexError& error) {
    throw IndexError(text + error.what());
  }
}

Array rows(const Array& array, int64_t start, int64_t count) { return array.slice(0, start, count); }

// `count` rows of x from `start` on, and zeros until there are `size`.
Array padded(const Array& x, int64_t start, int64_t count, int64_t size) {
  Shape shape = x.shape();
  shape[0] = size;
  const bool is_image = x.ndim() >= 3 && x.is_channels_last();
  const Array result =
      is_image ? empty_channels_last(shape, x.dtype(), x.device()) : empty(shape, x.dtype(), x.device());
  rows(result, 0, count).copy_from(rows(x, start, count));
  if (count < size) rows(result, count, size - count).fill(0);
  return result;
}

}  // namespace

// An instance of a plan in a free lane, or a new one.
class Session::Lease {
 public:
  Lease(Session& session, const std::shared_ptr<Entry>& entry) : session_{session} {
    {
      const std::scoped_lock lock(session.mutex_);
      if (!session.free_.empty()) {
        lane_ = std::move(session.free_.back());
        session.free_.pop_back();
      } else {
        session.free_.reserve(++session.lanes_);  // so that giving it back cannot fail
      }
    }
    if (lane_ == nullptr) lane_ = std::make_unique<Lane>();
    const auto found = std::ranges::find(lane_->places, entry, &Lane::Place::entry);
    if (found != lane_->places.end()) {
      instance_ = found->instance.get();
    } else {
      auto instance = entry->plan->make_instance(lane_->scratch);
      instance_ = lane_->places.emplace_back(Lane::Place{entry, std::move(instance)}).instance.get();
    }
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() {
    std::vector<Lane::Place> dropped;  // destroyed without the lock
    const std::scoped_lock lock(session_.mutex_);
    auto& places = lane_->places;
    const auto is_kept = [](const Lane::Place& place) { return !place.entry->is_dropped; };
    const auto end = std::partition(places.begin(), places.end(), is_kept);
    std::move(end, places.end(), std::back_inserter(dropped));
    places.erase(end, places.end());
    session_.free_.push_back(std::move(lane_));
  }
  Instance& instance() noexcept { return *instance_; }

 private:
  Session& session_;
  std::unique_ptr<Lane> lane_;
  Instance* instance_ = nullptr;
};

// --- before the first call ------------------------------------------------------------------------------------------

Session::Session(CallableModel model, InferenceSessionOptions options)
    : model_{std::move(model)}, options_{std::move(options)}, constants_{ConstantCache(options_.cache)} {
  if (options_.name.empty()) {
    options_.name = model_.link != nullptr ? kusari::detail::class_name(*model_.link) : "function";
  }
  check_options();
  if (model_.link != nullptr) {
    check_model();
    if (options_.dtype) {
      const std::shared_ptr<void> first_call = model_.first_call ? model_.first_call() : nullptr;
      model_.link->to(*options_.dtype);
    }
  }
  if (!environment::flag("KUSARI_STATIC_GRAPH").value_or(true)) {
    always_plain_ = "KUSARI_STATIC_GRAPH is off";
  } else if (!config().use_static_graph || config().debug) {
    always_plain_ = config().debug ? "config().debug is on" : "config().use_static_graph is off";
  }
  keeps_tunings_ = constants_.cache().is_on() && config().autotune;
  if (keeps_tunings_) constants_.cache().restore_tunings();
  prepare();
}

Session::~Session() {
  if (!keeps_tunings_) return;
  try {
    constants_.cache().keep_tunings();
  } catch (const std::exception& error) {  // of memory
    log::warn(prefix() + "what autotune chose is not cached: " + error.what());
  }
}

void Session::check_options() const {
  if (options_.max_plans < 1) {
    throw ValueError(prefix() + "max_plans is " + std::to_string(options_.max_plans) + ", but must be at least 1");
  }
  for (size_t i = 0; i < options_.batch_sizes.size(); ++i) {
    if (options_.batch_sizes[i] > (i == 0 ? 0 : options_.batch_sizes[i - 1])) continue;
    throw ValueError(prefix() + "batch_sizes must be positive and grow, but number " + std::to_string(i) + " is " +
                     std::to_string(options_.batch_sizes[i]));
  }
  if (!options_.dtype) return;
  if (!is_floating(*options_.dtype)) {
    throw ValueError(prefix() + "dtype is " + kusari::name(*options_.dtype) + ", but must be floating");
  }
  if (model_.link == nullptr) {
    throw ValueError(prefix() +
                     "dtype needs a link, whose parameters can be converted; convert those of the callable "
                     "with Link::to");
  }
}

void Session::check_model() {
  LinkWalk::links(*model_.link, "", [&](const std::string& path, Link& link) {
    LinkWalk::members(link, [&](const LinkMember& member) {
      if (member.kind == MemberKind::state) {
        throw StateError(prefix() + "the model keeps a state between calls, " + path + "/" + member.name +
                         "; take it as an argument and return it");
      }
      if (member.kind == MemberKind::parameter && !LinkWalk::parameter(link, member).is_initialized()) {
        throw StateError(prefix() + "parameter " + path + "/" + member.name +
                         " has no numbers yet; load them, or call the model once");
      }
    });
  });
}

void Session::prepare() {
  const Device device = model_.link != nullptr ? model_.link->device() : Device();
  for (const std::vector<Shape>& shapes : options_.shapes) {
    std::vector<int64_t> batches = options_.batch_sizes;
    if (batches.empty()) batches.push_back(-1);
    for (const int64_t batch : batches) {
      Arrays inputs;
      for (size_t i = 0; i < shapes.size(); ++i) {
        const Dtype dtype = i < options_.input_dtypes.size() ? options_.input_dtypes[i] : Dtype::float32;
        Shape shape = shapes[i];
        if (batch >= 0 && shape.ndim() > 0) shape[0] = batch;
        inputs.push_back(zeros(shape, dtype, device));
      }
      run(inputs, nullptr);  // weights are packed by the first replay
    }
  }
  if (options_.release_parameters) release();
}

void Session::release() {
  std::string reason = options_.shapes.empty() ? "shapes is empty" : always_plain_;
  for (const auto& entry : entries_) {
    if (entry->plan == nullptr) reason = entry->reason;
  }
  if (!reason.empty()) {
    throw StateError(prefix() + "release_parameters needs calls that are prepared and recorded, but " + reason);
  }
  for (const auto& entry : entries_) entry->plan->release_sources();
  model_.call = nullptr;
  model_.copied = nullptr;
  model_.first_call = nullptr;
  model_.link = nullptr;
  is_released_ = true;
  memory::release_cached();  // what the parameters took
}

// --- calls ----------------------------------------------------------------------------------------------------------

std::string Session::text_of(const Arrays& inputs) const {
  std::string text;
  for (const Array& input : inputs) text += (text.empty() ? "" : ", ") + array_text(input);
  return text;
}

std::string Session::text_of(const std::vector<Key>& inputs) {
  std::string text;
  for (const Key& key : inputs) {
    text += (text.empty() ? "" : ", ") + std::string(kusari::name(key.dtype)) + ' ' + to_string(key.shape);
  }
  return text;
}

void Session::check_inputs(const Arrays& inputs) const {
  const std::vector<bool>& accepted = model_.accepted;
  if (!accepted.empty() && (inputs.size() >= accepted.size() || !accepted[inputs.size()])) {
    std::string counts;
    for (size_t n = 0; n < accepted.size(); ++n) {
      if (accepted[n]) counts += (counts.empty() ? "" : " or ") + std::to_string(n);
    }
    throw TypeError(prefix() + "run got " + std::to_string(inputs.size()) + " inputs, but the model takes " + counts);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string which = "input " + std::to_string(i);
    if (!inputs[i].is_defined()) throw TypeError(prefix() + which + " is undefined");
    if (inputs[i].storage().stale != nullptr) kusari::detail::throw_stale(prefix() + which, inputs[i]);
  }
}

void Session::throw_misfit(size_t output, const Array& given, const std::string& expected) const {
  throw TypeError(prefix() + "result " + std::to_string(output) + " is " + expected + ", but the array for it is " +
                  (given.is_defined() ? array_text(given) : "undefined"));
}

void Session::check_given(std::span<const View> outputs, const Arrays& given) const {
  if (given.size() != outputs.size()) {
    throw TypeError(prefix() + "run got " + std::to_string(given.size()) + " arrays for " +
                    std::to_string(outputs.size()) + " results");
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const View& view = outputs[i];
    const Array& array = given[i];
    if (!view.is_defined() || (array.is_defined() && array.dtype() == view.dtype && array.shape() == view.shape))
      continue;
    throw_misfit(i, array, std::string(kusari::name(view.dtype)) + ' ' + to_string(view.shape));
  }
}

void Session::check_given(const Arrays& results, const Arrays& given) const {
  if (given.size() != results.size()) {
    throw TypeError(prefix() + "run got " + std::to_string(given.size()) + " arrays for " +
                    std::to_string(results.size()) + " results");
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const Array &result = results[i], &array = given[i];
    if (!result.is_defined() ||
        (array.is_defined() && array.dtype() == result.dtype() && array.shape() == result.shape())) {
      continue;
    }
    throw_misfit(i, array, array_text(result));
  }
}

Arrays Session::run(const Arrays& inputs, const Arrays* given) {
  check_inputs(inputs);
  return options_.batch_sizes.empty() ? run_exactly(inputs, given) : run_padded(inputs, given);
}

Arrays Session::run_padded(const Arrays& inputs, const Arrays* given) {
  const auto batch_of = [](const Array& input) { return input.ndim() == 0 ? -1 : input.shape(0); };
  const int64_t batch = inputs.empty() ? -1 : batch_of(inputs[0]);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (batch_of(inputs[i]) == batch && batch >= 0) continue;
    throw TypeError(prefix() + "with batch_sizes all inputs must have the same first axis, but they are " +
                    text_of(inputs));
  }
  const std::vector<int64_t>& sizes = options_.batch_sizes;
  const auto next = [&](int64_t count) {
    const auto found = std::ranges::lower_bound(sizes, count);
    return found != sizes.end() ? *found : sizes.back();
  };
  if (batch < 0 || next(batch) == batch) return run_exactly(inputs, given);
  Arrays results;
  for (int64_t start = 0; start == 0 || start < batch;) {
    const int64_t size = next(batch - start), count = std::min(size, batch - start);
    Arrays part;
    for (const Array& input : inputs) part.push_back(padded(input, start, count, size));
    const Arrays computed = run_exactly(part, nullptr);
    for (size_t i = 0; i < computed.size(); ++i) {
      if (!computed[i].is_defined() || computed[i].ndim() == 0 || computed[i].shape(0) != size) {
        throw TypeError(prefix() +
                        "with batch_sizes each result must have a row for each row of the inputs, but result " +
                        std::to_string(i) + " for a batch of " + std::to_string(size) + " is " +
                        (computed[i].is_defined() ? array_text(computed[i]) : "undefined"));
      }
      if (start == 0) {
        Shape shape = computed[i].shape();
        shape[0] = batch;
        results.push_back(count == batch ? rows(computed[i], 0, batch)
                          : computed[i].is_channels_last()
                              ? empty_channels_last(shape, computed[i].dtype(), computed[i].device())
                              : empty(shape, computed[i].dtype(), computed[i].device()));
      }
      if (count != batch) rows(results[i], start, count).copy_from(rows(computed[i], 0, count));
    }
    start += std::max<int64_t>(count, 1);
  }
  if (given == nullptr) return results;
  check_given(results, *given);
  for (size_t i = 0; i < results.size(); ++i) (*given)[i].copy_from(results[i]);
  return {};
}

Arrays Session::run_exactly(const Arrays& inputs, const Arrays* given) {
  if (is_released_ && GraphCapture::current() != nullptr) {
    throw StateError(prefix() + "the model was released, so that the call cannot become part of a recording");
  }
  if (!always_plain_.empty() || GraphCapture::current() != nullptr) return call_plainly(inputs, given);
  if (!std::ranges::all_of(inputs, [](const Array& input) { return input.is_dense(); })) {
    Arrays dense;
    for (const Array& input : inputs) dense.push_back(input.is_dense() ? input : input.copy().contiguous());
    return run_exactly(dense, given);
  }
  const std::shared_ptr<Entry> entry = entry_for(inputs);
  std::shared_ptr<void> first_call;
  if (!entry->is_ready.load(std::memory_order_acquire)) {
    if (model_.first_call) first_call = model_.first_call();
    try {
      build(*entry, inputs);
    } catch (...) {
      forget(entry);
      throw;
    }
  }
  if (entry->plan == nullptr) return call_plainly(inputs, given);
  if (entry->plan->is_outdated()) {
    throw StateError(
        prefix() +
        "somebody has written into the parameters since they were folded; make another session, or give it "
        "a copy of the model: InferenceSession(copy(model, CopyMode::copy))");
  }
  if (given != nullptr) check_given(entry->plan->outputs(), *given);
  Lease lease(*this, entry);
  return entry->plan->run(lease.instance(), {inputs.data(), inputs.size()}, given);
}

std::shared_ptr<Session::Entry> Session::entry_for(const Arrays& inputs) {
  const auto matches = [&](const std::shared_ptr<Entry>& entry) {
    return std::ranges::equal(entry->inputs, inputs, [](const Key& key, const Array& array) {
      return key.dtype == array.dtype() && key.shape == array.shape() && key.device == array.device() &&
             has_places(array, key.strides);
    });
  };
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find_if(entries_, matches);
  if (found != entries_.end()) {
    (*found)->last_use = ++uses_;
    return *found;
  }
  if (is_released_) {
    throw StateError(prefix() + "the model was released when the calls in shapes were prepared, so that (" +
                     text_of(inputs) + ") cannot be recorded");
  }
  if (entries_.size() >= static_cast<size_t>(options_.max_plans)) drop_oldest();
  const auto& entry = entries_.emplace_back(std::make_shared<Entry>());
  entry->last_use = ++uses_;
  for (const Array& array : inputs) {
    entry->inputs.push_back({array.dtype(), array.device(), array.shape(), array.strides()});
  }
  return entry;
}

// With the lock. Calls in flight keep what they use.
void Session::drop_oldest() {
  const auto oldest = std::ranges::min_element(entries_, {}, &Entry::last_use);
  const std::shared_ptr<Entry> entry = *oldest;
  entries_.erase(oldest);
  entry->is_dropped = true;
  ++dropped_;
  for (const auto& lane : free_) {
    std::erase_if(lane->places, [&](const Lane::Place& place) { return place.entry == entry; });
  }
}

void Session::forget(const std::shared_ptr<Entry>& entry) noexcept {
  const std::scoped_lock lock(mutex_);
  entry->is_dropped = true;
  std::erase(entries_, entry);
}

// --- recording ------------------------------------------------------------------------------------------------------

void Session::build(Entry& entry, const Arrays& inputs) {
  const std::scoped_lock lock(entry.building);
  if (entry.is_ready.load(std::memory_order_relaxed)) return;
  const double start = seconds_now();
  explained(prefix() + "the model refuses (" + text_of(inputs) + "): ", [&] { record(entry, inputs); });
  entry.seconds = seconds_now() - start;
  entry.is_ready.store(true, std::memory_order_release);
  const std::scoped_lock count(mutex_);
  ++recordings_;
}

void Session::record(Entry& entry, const Arrays& inputs) {
  const profiler::Range range("inference record");
  const Surroundings surroundings(config_);
  CallableModel scratch;  // holds the parameters that the recording refers to
  Recording recording;
  if (model_.copied) scratch = model_.copied();
  if (!(model_.copied ? record_unseen(scratch, inputs, recording, entry.reason)
                      : record_live(inputs, recording, entry.reason))) {
    return;
  }
  if (const std::string reason = FrozenPlan::why_not(recording); !reason.empty()) {
    throw StateError(prefix() + "the model changes with each call: " + reason);
  }
  entry.plan = std::make_unique<FrozenPlan>(std::move(recording), options_.passes, constants_);
}

// Records a copy of the model, which may keep what was never computed, without running the kernels: that takes no time,
// and no weights are packed that are not needed once they are folded.
bool Session::record_unseen(const CallableModel& scratch, const Arrays& inputs, Recording& recording,
                            std::string& reason) {
  struct Unhooked {  // hooks would see arrays without numbers
    FunctionHook* hooks = std::exchange(kusari::detail::t_function_hooks, nullptr);
    ~Unhooked() { kusari::detail::t_function_hooks = hooks; }
  } const unhooked;
  Recorder recorder(options_.name, false);
  recorder.only_record();
  if (!record_call(scratch, inputs, recorder, recording, reason)) return false;
  if (recording.escapes.empty()) return true;
  recording = {};
  return record_live(inputs, recording, reason);
}

// What a call leaves behind may be made once (a table), or be a state that the next one reads: that shows then.
bool Session::record_live(const Arrays& inputs, Recording& recording, std::string& reason) {
  Recorder first(options_.name, false);
  if (!record_call(model_, inputs, first, recording, reason)) return false;
  if (recording.escapes.empty()) return true;
  std::set<uint64_t> escaped;
  for (const Recording::Escape& escape : recording.escapes) escaped.insert(escape.storage_id);
  recording = {};
  Recorder second(options_.name, false, &escaped);
  return record_call(model_, inputs, second, recording, reason);
}

// False, with a reason, for a call that cannot be replayed.
bool Session::record_call(const CallableModel& model, const Arrays& inputs, Recorder& recorder, Recording& recording,
                          std::string& reason) const {
  std::vector<View> outputs;
  Arrays lent;  // tells who else holds a result
  try {
    Variables given, results;
    for (const Array& input : inputs) given.push_back(Variable(recorder.input(input).array, false));
    {
      const Recorder::Scope scope(recorder, graphs::Phase::forward);
      results = call(model, {given.data(), given.size()});
      for (const Variable& result : results) {
        if (result.is_defined()) GraphCapture::current()->used(result);
      }
    }
    for (const Variable& result : results) {
      outputs.push_back(result.is_defined() ? recorder.exported(result.array(), graphs::Export::own) : View());
      if (result.is_defined()) lent.push_back(recorder.lent(result.array()));
    }
  } catch (const StateError&) {
    if (!recorder.is_refused()) throw;
    reason = recorder.reason();
    return false;
  }
  recording = recorder.finish();
  recording.outputs = std::move(outputs);
  return true;
}

// The model with its inputs in the session's dtype and its results in float32.
Variables Session::call(const CallableModel& model, std::span<const Variable> inputs) const {
  if (!options_.dtype) return model.call(inputs);
  Variables converted;
  for (const Variable& input : inputs) {
    converted.push_back(is_floating(input.dtype()) ? functions::cast(input, *options_.dtype) : input);
  }
  Variables results = model.call({converted.data(), converted.size()});
  for (Variable& result : results) {
    if (result.is_defined() && is_half(result.dtype())) result = functions::cast(result, Dtype::float32);
  }
  return results;
}

Arrays Session::call_plainly(const Arrays& inputs, const Arrays* given) const {
  const Surroundings surroundings(config_);
  Variables variables;
  for (const Array& input : inputs) variables.push_back(Variable(input, false));
  Arrays results;
  explained(prefix() + "the model refuses (" + text_of(inputs) + "): ", [&] {
    for (const Variable& result : call(model_, {variables.data(), variables.size()})) {
      results.push_back(result.is_defined() ? result.array() : Array());
    }
  });
  for (Array& result : results) {  // of an input, a parameter, another result
    if (result.is_defined() && !result.is_unique()) result = result.copy();
  }
  if (given == nullptr) return results;
  check_given(results, *given);
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].is_defined()) (*given)[i].copy_from(results[i]);
  }
  return {};
}

// --- looking inside -------------------------------------------------------------------------------------------------

int Session::plan_count() const {
  const std::scoped_lock lock(mutex_);
  return static_cast<int>(entries_.size());
}

std::string Session::summary() const {
  const std::scoped_lock lock(mutex_);
  std::string text = prefix() + "recordings for " + std::to_string(entries_.size()) + " kinds of inputs (at most " +
                     std::to_string(options_.max_plans) + "), " + std::to_string(recordings_) + " made, " +
                     std::to_string(dropped_) + " dropped; calls at one time: " + std::to_string(lanes_) + " at most\n";
  if (options_.dtype) text += std::string("  dtype: ") + kusari::name(*options_.dtype) + "\n";
  if (!options_.batch_sizes.empty()) {
    text += "  batches get rows until there are";
    for (const int64_t size : options_.batch_sizes) text += ' ' + std::to_string(size);
    text += "\n";
  }
  if (is_released_) text += "  the model was released\n";
  if (!always_plain_.empty()) text += "  all calls run define-by-run: " + always_plain_ + "\n";
  for (const auto& entry : entries_) {
    text += "(" + text_of(entry->inputs) + "): ";
    if (!entry->is_ready.load(std::memory_order_acquire)) {
      text += "being recorded\n";
    } else if (entry->plan == nullptr) {
      text += "define-by-run, because " + entry->reason + "\n";
    } else {
      char made[64];
      std::snprintf(made, sizeof(made), "recorded in %.1f ms\n", 1e3 * entry->seconds);
      text += made + entry->plan->summary();
    }
  }
  return text;
}

}  // namespace kusari::inference
