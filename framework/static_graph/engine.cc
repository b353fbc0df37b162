#include "kusari/framework/static_graph/engine.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/environment.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/core/profiler.h"
#include "kusari/framework/static_graph/dot.h"
#include "kusari/framework/static_graph/static_call.h"
#include "kusari/framework/static_graph/summary.h"

namespace kusari::graphs {

using kusari::detail::VariableNode;

namespace {

// So many recordings in a row that were never replayed, and calls of the signature stay as they are.
constexpr int kMaxUnusedRecordings = 8;

bool is_off_by_environment() noexcept {
  static const bool is_off =
      !environment::flag("KUSARI_STATIC_GRAPH").value_or(true);  // checked by the engine's constructor
  return is_off;
}

VariableNode* node_of(const IntrusivePtr<VariableNode>& leaf) noexcept { return leaf.get(); }
VariableNode* node_of(const Recording::Leaf& leaf) noexcept { return leaf.node.get(); }

// Puts the function that stands for a call into the graph around it.
template <class Leaves, class Source>
Variables apply_call(std::span<const Variable> inputs, const Leaves& leaves, bool is_connected, Source source) {
  SmallVector<Variable, 16> all;
  all.reserve(inputs.size() + leaves.size());
  for (const Variable& input : inputs) all.push_back(input);
  for (const auto& leaf : leaves) all.emplace_back(node_of(leaf));
  std::optional<ScopedSetting<bool>> forced;
  if (is_connected && !config().enable_backprop) forced.emplace(&Config::enable_backprop, true);
  return apply_all<StaticCall>({all.data(), all.size()}, std::move(source));
}

bool is_any_connected(const CallResults& results) {
  return std::any_of(results.results.begin(), results.results.end(),
                     [](const CallResults::Result& result) { return result.is_connected; });
}

std::string quoted(const StaticGraphOptions& options) { return "static_graph '" + options.name + "'"; }

void warn_once(EnginesShared& shared, const std::string& text) {
  if (shared.is_new(text)) log::warn(quoted(shared.options) + ": " + text);
}

void give_up(EnginesShared& shared, const Signature& signature, const std::string& reason) {
  warn_once(shared, "calls with (" + signature.text() + ") run define-by-run from now on: " + reason);
}

}  // namespace

bool EnginesShared::is_new(const std::string& warning) {
  const std::scoped_lock lock(mutex);
  return warnings.insert(warning).second;
}

// What the recording of a call leaves to the engine, which may be gone by then.
class Engine::Observer final : public RecordingObserver {
 public:
  Observer(const Engine& engine, std::shared_ptr<Entry> entry)
      : is_first_{engine.is_first_},
        copies_outputs_{engine.copies_outputs_},
        open_{engine.open_calls_},
        shared_{engine.shared_},
        entry_{std::move(entry)},
        scratch_{engine.scratch_},
        escaped_{engine.escaped_} {
    ++entry_->open_recordings;
  }

  const std::set<uint64_t>* escaped() const noexcept { return escaped_.get(); }

  void recorded(std::unique_ptr<Recorder> recorder, Recording recording, RecordedCall::Context context) override {
    --entry_->open_recordings;
    if (entry_->state != Entry::State::fresh) return;  // another call was first
    for (const Recording::Escape& escape : recording.escapes) escaped_->insert(escape.storage_id);
    if (!recording.escapes.empty() && !std::exchange(entry_->left_something, true)) return;
    context.recorder = std::move(recorder);
    context.copies_outputs = copies_outputs_;
    context.open_calls = open_.calls();
    entry_->recorded = IntrusivePtr<RecordedCall>(
        new RecordedCall(std::move(recording), shared_->options.passes, std::move(context), scratch_));
    entry_->state = Entry::State::ready;
    entry_->is_used = false;
    if (is_first_ || !entry_->recorded->watches_arrays()) return;
    entry_->state = Entry::State::plain;
    entry_->recorded = nullptr;
  }
  void refused(const std::string& reason) override {
    --entry_->open_recordings;
    if (entry_->state == Entry::State::plain) return;
    entry_->state = Entry::State::plain;
    entry_->recorded = nullptr;
    give_up(*shared_, entry_->signature, reason);
  }
  void abandoned(std::string reason) noexcept override {
    if (--entry_->open_recordings > 0 || entry_->state != Entry::State::fresh || reason.empty()) return;
    ++entry_->unused_recordings;
    entry_->reason = std::move(reason);
  }

 private:
  bool is_first_, copies_outputs_;
  OpenCall open_;
  std::shared_ptr<EnginesShared> shared_;
  std::shared_ptr<Entry> entry_;
  std::shared_ptr<Scratch> scratch_;
  std::shared_ptr<std::set<uint64_t>> escaped_;
};

Engine::Engine(std::shared_ptr<EnginesShared> shared, bool is_first)
    : shared_{std::move(shared)},
      options_{shared_->options},
      is_first_{is_first},
      copies_outputs_{options_.copy_outputs} {
  (void)config();  // throws bad settings, which is_on() cannot
}

bool Engine::is_on() const noexcept {
  if (GraphCapture::current() != nullptr || is_off_by_environment()) return false;
  const Config& settings = config();
  return settings.use_static_graph && !settings.debug &&
         (!options_.force_test_define_by_run || (settings.train && settings.enable_backprop));
}

namespace {

// A call that reads the states among its inputs and gives them back among its results.
struct StatefulCall {
  const Engine::Callee& callee;
  std::span<Variable* const> states;

  static Variables run(void* object, std::span<const Variable> inputs) {
    const StatefulCall& call = *static_cast<StatefulCall*>(object);
    const size_t given = inputs.size() - call.states.size();
    ScopedStates scope(call.states, inputs.subspan(given));
    Variables results = call.callee.call(call.callee.object, inputs.first(given));
    for (const Variable* const state : call.states) results.push_back(*state);
    return results;
  }
};

}  // namespace

Variables Engine::call(const Callee& callee, std::span<const Variable> inputs) {
  const std::span<Variable* const> states = states_.of(callee.model);
  if (states.empty()) [[likely]]
    return call_stateless(callee, inputs, 0);
  copies_outputs_ = true;  // the next call reads a state while it computes the one after it
  StatefulCall call{callee, states};
  const Variables all = with_states(inputs, states);
  Variables results =
      call_stateless({&StatefulCall::run, &call, callee.model}, {all.data(), all.size()}, states.size());
  for (size_t i = states.size(); i-- > 0; results.pop_back()) *states[i] = std::move(results.back());
  return results;
}

Variables Engine::call_stateless(const Callee& callee, std::span<const Variable> inputs, size_t carried) {
  check(inputs);
  const Surroundings surroundings = Surroundings::now();
  Entry* entry = find(inputs, surroundings);
  if (entry == nullptr) entry = add(inputs, surroundings);
  if (entry == nullptr) return callee.call(callee.object, inputs);
  if (entry->state == Entry::State::ready) {
    std::string change = entry->recorded->changed(callee.model);
    if (change.empty() && entry->recorded->writes_into(inputs)) return callee.call(callee.object, inputs);
    if (change.empty()) [[likely]] {
      entry->unused_recordings = 0;
      entry->is_used = true;
      log(2, *entry, "is replayed");
      return replay(entry->recorded, inputs);
    }
    entry->unused_recordings += entry->is_used ? 0 : 1;
    entry->state = Entry::State::fresh;
    entry->recorded = nullptr;
    entry->reason = std::move(change);
    forget_changed(callee);
  }
  if (entry->state == Entry::State::fresh) {
    if (entry->unused_recordings < kMaxUnusedRecordings) return record(*entry, callee, inputs, carried);
    entry->state = Entry::State::plain;
    give_up(*shared_, entry->signature,
            std::to_string(kMaxUnusedRecordings) + " recordings in a row were of no use, the last because " +
                entry->reason);
  }
  log(2, *entry, "runs define-by-run");
  return callee.call(callee.object, inputs);
}

void Engine::check(std::span<const Variable> inputs) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_defined()) continue;
    const Array& array = inputs[i].array();
    if (!array.is_defined()) {
      throw StateError(quoted(options_) + ": argument " + std::to_string(i) +
                       " has no array (an uninitialised parameter?)");
    }
    if (array.storage().stale != nullptr) kusari::detail::throw_stale(quoted(options_), array);
  }
}

Engine::Entry* Engine::find(std::span<const Variable> inputs, const Surroundings& surroundings) const noexcept {
  for (const auto& entry : entries_) {
    if (entry->signature.matches(inputs, surroundings)) return entry.get();
  }
  return nullptr;
}

Engine::Entry* Engine::add(std::span<const Variable> inputs, const Surroundings& surroundings) {
  auto entry = std::make_shared<Entry>(Signature(inputs, surroundings));
  if (options_.minimize_cache_size) forget_mode(!entry->signature.is_training());
  if (entries_.size() < static_cast<size_t>(std::max(options_.max_signatures, 0))) {
    return entries_.emplace_back(std::move(entry)).get();
  }
  if (shared_->is_new("full")) {
    log::warn(quoted(options_) + ": it has recordings for " + std::to_string(entries_.size()) +
              " kinds of inputs; calls with others, such as (" + entry->signature.text() +
              "), run define-by-run; see StaticGraphOptions::max_signatures");
  }
  return nullptr;
}

void Engine::forget_mode(bool is_training) {
  std::erase_if(entries_, [&](const std::shared_ptr<Entry>& entry) {
    return entry->signature.is_training() == is_training && entry->open_recordings == 0;
  });
}

// A change rarely concerns one signature only, and recordings of the others hold what the model has let go.
void Engine::forget_changed(const Callee& callee) {
  for (const auto& entry : entries_) {
    if (entry->state != Entry::State::ready) continue;
    std::string change = entry->recorded->changed(callee.model);
    if (change.empty()) continue;
    entry->state = Entry::State::fresh;
    entry->recorded = nullptr;
    entry->reason = std::move(change);
  }
}

Variables Engine::record(Entry& entry, const Callee& callee, std::span<const Variable> inputs, size_t carried) {
  log(1, entry, "is recorded");
  const auto shared =
      *std::find_if(entries_.begin(), entries_.end(), [&](const auto& each) { return each.get() == &entry; });
  auto observer = std::make_shared<Observer>(*this, shared);
  auto recorder = std::make_unique<Recorder>(options_.name, options_.fallback, observer->escaped());
  auto live = std::make_unique<LiveCall>(options_.name, std::move(recorder), std::move(observer));
  {
    Variables results;
    {
      Variables given;
      given.reserve(inputs.size());
      for (const Variable& input : inputs) given.push_back(live->add_input(input));
      const profiler::Range range("static_graph record");
      const Recorder::Scope scope(live->recorder(), Phase::forward);
      results = callee.call(callee.object, {given.data(), given.size()});
      for (const Variable& result : results) {
        if (result.is_defined()) GraphCapture::current()->used(result);
      }
    }
    live->add_results(results, callee.model, carried);
  }
  const CallResults results = live->results();
  const bool is_connected = is_any_connected(results);
  if (!is_connected) live->finish();
  const std::vector<IntrusivePtr<VariableNode>> leaves(live->leaves().begin(), live->leaves().end());
  return results.deliver(apply_call(inputs, leaves, is_connected, std::move(live)));
}

Variables Engine::replay(const IntrusivePtr<RecordedCall>& recorded, std::span<const Variable> inputs) {
  const IntrusivePtr<RecordedCall> kept = recorded;  // static_code may clear the graph
  const CallResults& results = kept->results();
  std::optional<kusari::detail::ScopedUse> members;
  if (!results.members.empty()) members.emplace(shared_->members, quoted(options_).c_str());
  results.clear_members();
  return results.deliver(apply_call(inputs, kept->leaves(), kept->has_backward(), kept));
}

void Engine::log(int level, const Entry& entry, const char* what) const {
  if (options_.verbosity_level < level) [[likely]]
    return;
  const std::string& reason = entry.reason;
  kusari::log::info(quoted(options_) + ": a call with (" + entry.signature.text() + ") " + what +
                    (reason.empty() || level > 1 ? "" : ", because " + reason));
}

std::string Engine::summary() const {
  std::string text;
  for (const auto& entry : entries_) {
    text += "(" + entry->signature.text() + "): ";
    switch (entry->state) {
      case Entry::State::fresh:
        text += entry->open_recordings > 0 ? "recorded when its backward comes\n" : "not recorded yet\n";
        break;
      case Entry::State::plain:
        text += "define-by-run\n";
        break;
      case Entry::State::ready: {
        const Plan& plan = entry->recorded->plan();
        const Packing packing = plan.memories().empty() ? Packing() : plan.memories().front().packing;
        text += '\n' + graphs::summary(plan.program(), packing, entry->recorded->pass_log());
      }
    }
  }
  return text;
}

std::string Engine::dot() const {
  std::string text;
  for (const auto& entry : entries_) {
    if (entry->state == Entry::State::ready) text += graphs::dot(entry->recorded->plan().program());
  }
  return text;
}

void Engine::clear() noexcept {
  entries_.clear();
  const std::scoped_lock lock(shared_->mutex);
  shared_->warnings.clear();
}

}  // namespace kusari::graphs
