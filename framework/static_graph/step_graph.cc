#include "kusari/framework/static_graph/step_graph.h"

#include <algorithm>
#include <utility>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/core/memory.h"
#include "kusari/framework/core/profiler.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/core/reporter.h"
#include "kusari/framework/links/link_walk.h"
#include "kusari/framework/links/parameter.h"
#include "kusari/framework/static_graph/bindings.h"
#include "kusari/framework/static_graph/dot.h"
#include "kusari/framework/static_graph/instance.h"
#include "kusari/framework/static_graph/passes.h"
#include "kusari/framework/static_graph/plan.h"
#include "kusari/framework/static_graph/recorder.h"
#include "kusari/framework/static_graph/summary.h"

namespace kusari::graphs {

using kusari::detail::ArrayBody;
using kusari::detail::LinkWalk;
using kusari::detail::Storage;
using kusari::detail::VariableNode;

namespace {

constexpr int kMostUnusedRecordings = 8;

/// An array of a plan's that stays with others from one replay to the next, as long as nobody else looks at it.
class Lent {
 public:
  explicit Lent(View view) : view_{std::move(view)} {}

  const View& view() const noexcept { return view_; }
  bool is_made() const noexcept { return array_.is_defined(); }
  /// The last replay's array was kept by somebody, who is told so when he uses it.
  bool is_stale() const noexcept { return array_.storage().stale != nullptr; }
  const Array& array() const noexcept { return array_; }
  uint32_t references() const noexcept { return body_->references.load(std::memory_order_acquire); }
  void drop() noexcept {
    array_ = Array();
    body_ = nullptr;
  }
  /// A body of our own, whose references tell who looks at it.
  void make(const Instance& instance) {
    const Array given = instance.array_of(view_);
    body_ = memory::create<ArrayBody>();
    body_->dtype = given.dtype();
    body_->contiguous = given.is_contiguous();
    body_->storage = const_cast<Storage*>(&given.storage());
    body_->storage->retain();
    body_->data = given.raw_data();
    body_->size = given.size();
    body_->shape = given.shape();
    body_->strides = given.strides();
    array_ = Array(IntrusivePtr<ArrayBody>::adopt(body_));
  }

 private:
  View view_;
  Array array_;
  ArrayBody* body_ = nullptr;  // of array_
};

/// Whether the recording refers to links that are no part of the model.
bool points_elsewhere(const Recording& recording, Link& model) {
  std::unordered_set<const void*> links{nullptr};
  LinkWalk::each(model, [&](Link& link) { links.insert(dynamic_cast<const void*>(&link)); });
  return !recording.kept.empty() || std::any_of(recording.reports.begin(), recording.reports.end(),
                                                [&](const auto& report) { return !links.contains(report.observer); });
}

std::string name_of(const VariableNode& node) {
  return node.saved == nullptr || node.saved->name.empty() ? "a variable" : "the variable '" + node.saved->name + "'";
}

}  // namespace

/// A recorded step with the memory to run it.
class StepGraph::Recorded {
 public:
  /// What a step leaves in a parameter.
  struct Gradient {
    Gradient(VariableNode* of, View gradient) : parameter{of}, lent{std::move(gradient)} {}

    IntrusivePtr<VariableNode> parameter;
    Lent lent;
    Variable held;       // with lent's array
    int32_t scale = -1;  // of scales_
  };
  /// A loss scale that gradients carry.
  struct Scale {
    explicit Scale(View of) : lent{std::move(of)} {}
    Lent lent;
  };

  Recorded(Recording recording, const StaticGraphOptions& options, Link* model, Anatomy anatomy,
           std::vector<Gradient> gradients, std::vector<Scale> scales, std::unique_ptr<Recorder> recorder,
           bool has_states)
      : inputs_{std::move(recording.inputs)},
        reports_{std::move(recording.reports)},
        kept_{std::move(recording.kept)},
        before_{std::move(recording.before)},
        after_{std::move(recording.after)},
        bindings_{recording, model, std::move(anatomy)},
        gradients_{std::move(gradients)},
        scales_{std::move(scales)},
        recorder_{std::move(recorder)},
        plan_{rewritten(std::move(recording.program), options.passes, log_)},
        copies_outputs_{(options.copy_outputs || has_states) && plan_.uses_graphs()} {}

  std::string changed(Link* model) { return bindings_.changed(model); }
  const Plan& plan() const noexcept { return plan_; }
  const PassLog& pass_log() const noexcept { return log_; }
  int stage() const noexcept {
    return instance_ && plan_.uses_graphs() ? 1 + instance_->graph_stage(Phase::forward) : 0;
  }

  void replay(std::span<const Variable> inputs) {
    for (const Recording::Kept& kept : kept_) *kept.member = Variable();
    if (!instance_) make_instance();
    try {
      for (const auto& action : before_) action();
      reclaim();
      instance_->begin();
      bindings_.bind_leaves(*instance_);
      for (size_t i = 0; i < inputs_.size(); ++i) {
        if (inputs_[i].is_defined()) instance_->bind(inputs_[i], inputs[i].array());
      }
      const uint64_t drawn = plan_.program().forward_random;
      instance_->run(Phase::forward, drawn == 0 ? RandomState() : random::reserve(drawn));
      hand_out();
      for (const auto& action : after_) action();
    } catch (...) {
      take_back();
      instance_->unbind();
      throw;
    }
    instance_->unbind();
  }

 private:
  void make_instance() {
    recorder_->expire();
    recorder_ = nullptr;
    // Those of the recorded step must not lie beside the arena.
    for (const Gradient& gradient : gradients_) Variable(gradient.parameter.get()).cleargrad();
    instance_ = std::make_unique<Instance>(plan_);
    bindings_.bind_externals(*instance_);
  }

  // Gradients that nobody but the parameters sees stay where they are and get new numbers; others are left to those
  // who keep them.
  void reclaim() noexcept {
    for (Gradient& gradient : gradients_) {
      VariableNode& parameter = *gradient.parameter;
      VariableNode* const held = gradient.held.node();
      const bool is_there = held != nullptr && parameter.grad == held;
      if (!is_there && parameter.grad != nullptr) Variable(&parameter).set_grad_var(Variable());
      if (held == nullptr) continue;
      const uint32_t own = is_there ? 2 : 1;
      if (held->handles() == own && held->references() == own && gradient.lent.references() == 2) continue;
      if (is_there) Variable(&parameter).set_grad_var(Variable());
      gradient.held = Variable();
      gradient.lent.drop();
    }
    for (size_t i = 0; i < scales_.size(); ++i) {
      Lent& lent = scales_[i].lent;
      if (lent.is_made() && lent.references() != 1 + holders_of(static_cast<int32_t>(i))) lent.drop();
    }
    for (const Gradient& gradient : gradients_) references_to(gradient.lent) = 0;
    for (const Scale& scale : scales_) references_to(scale.lent) = 0;
    for (const Gradient& gradient : gradients_) references_to(gradient.lent) += gradient.lent.is_made();
    for (const Scale& scale : scales_) references_to(scale.lent) += scale.lent.is_made();
  }

  // Gradients of a replay that failed, which may be half of this step and half of the last one.
  void take_back() noexcept {
    for (const Gradient& gradient : gradients_) {
      VariableNode& parameter = *gradient.parameter;
      if (parameter.grad != nullptr && parameter.grad == gradient.held.node()) Variable(&parameter).cleargrad();
    }
  }

  uint32_t& references_to(const Lent& lent) const noexcept { return instance_->own_references(lent.view().slot); }

  void hand_out() {
    for (Scale& scale : scales_) {
      if (!scale.lent.is_made() || scale.lent.is_stale()) scale.lent.make(*instance_);
    }
    for (Gradient& gradient : gradients_) {
      if (!gradient.held.is_defined() || gradient.lent.is_stale()) {
        gradient.lent.make(*instance_);
        gradient.held = Variable(gradient.lent.array(), false);
      }
      VariableNode& parameter = *gradient.parameter;
      if (parameter.grad != gradient.held.node()) Variable(&parameter).set_grad_var(gradient.held);
      set_scale(parameter, gradient.scale < 0 ? nullptr : &scales_[static_cast<size_t>(gradient.scale)].lent.array());
    }
    for (const Recording::Kept& kept : kept_) *kept.member = Variable(result(kept.value), false);
    if (reports_.empty() || get_current_reporter() == nullptr) return;
    for (const Recording::Report& report : reports_) {
      kusari::report({Reported(report.key, result(report.value), report.weight)}, report.observer);
    }
  }

  uint32_t holders_of(int32_t scale) const noexcept {
    const Array& array = scales_[static_cast<size_t>(scale)].lent.array();
    uint32_t holders = 0;
    for (const Gradient& gradient : gradients_) {
      if (gradient.scale != scale) continue;
      const VariableNode::Saved* const saved = gradient.parameter->saved;
      holders += saved != nullptr && saved->device_loss_scale.is_same(array);
    }
    return holders;
  }

  static void set_scale(VariableNode& parameter, const Array* scale) {
    if (scale == nullptr && parameter.saved == nullptr) return;
    VariableNode::Saved& saved = parameter.saved_state();
    saved.loss_scale = 1;
    if (scale == nullptr) {
      if (saved.device_loss_scale.is_defined()) saved.device_loss_scale = Array();
    } else if (!saved.device_loss_scale.is_defined() || !saved.device_loss_scale.is_same(*scale)) {
      saved.device_loss_scale = *scale;
    }
  }

  Array result(const View& view) const {
    const Array array = instance_->array_of(view);
    return copies_outputs_ ? array.copy() : array;
  }

  std::vector<View> inputs_;
  std::vector<Recording::Report> reports_;
  std::vector<Recording::Kept> kept_;
  std::vector<Callable<void()>> before_, after_;
  Bindings bindings_;
  std::vector<Gradient> gradients_;
  std::vector<Scale> scales_;
  std::unique_ptr<Recorder> recorder_;  // which watches what has escaped, until the first replay
  PassLog log_;
  Plan plan_;
  bool copies_outputs_;
  std::unique_ptr<Instance> instance_;
};

struct StepGraph::Entry {
  explicit Entry(Signature steps) : signature{std::move(steps)} {}

  Signature signature;
  std::unique_ptr<Recorded> recorded;
  bool is_plain = false;      // runs define-by-run for good
  bool is_doubtful = false;   // recorded once, but something escaped: a second step may find it
  int unused_recordings = 0;  // in a row
  std::string reason;         // why the last recording was of no use
};

StepGraph::StepGraph(StaticGraphOptions options) : options_{std::move(options)} {}
StepGraph::~StepGraph() = default;

void StepGraph::clear() noexcept {
  entries_.clear();
  escaped_.clear();
  is_full_ = false;
}

StepGraph::Entry* StepGraph::find(std::span<const Variable> inputs, const Surroundings& surroundings) const noexcept {
  for (const auto& entry : entries_) {
    if (entry->signature.matches(inputs, surroundings)) return entry.get();
  }
  return nullptr;
}

StepGraph::Entry* StepGraph::add(std::span<const Variable> inputs, const Surroundings& surroundings) {
  if (static_cast<int>(entries_.size()) < options_.max_signatures) {
    return entries_.emplace_back(std::make_unique<Entry>(Signature(inputs, surroundings))).get();
  }
  if (!std::exchange(is_full_, true)) {
    log::warn("static_graph '" + name() + "': it has recordings for " + std::to_string(entries_.size()) +
              " kinds of inputs; steps with others, such as (" + Signature(inputs, surroundings).text() +
              "), run define-by-run; see StaticGraphOptions::max_signatures");
  }
  return nullptr;
}

void StepGraph::give_up(Entry& entry, const std::string& reason) const {
  entry.is_plain = true;
  entry.recorded = nullptr;
  log::warn("static_graph '" + name() + "': steps with (" + entry.signature.text() +
            ") run define-by-run from now on: " + reason);
}

StepGraph::Entry* StepGraph::find_recorded(const Step& step, std::span<const Variable> inputs,
                                           const Surroundings& surroundings) {
  Entry* const entry = find(inputs, surroundings);
  if (entry == nullptr || entry->recorded == nullptr) return nullptr;
  std::string change = entry->recorded->changed(step.model);
  if (change.empty()) return entry;
  entry->reason = std::move(change);
  entry->recorded = nullptr;
  return nullptr;
}

int StepGraph::stage(const Step& step, std::span<const Variable> inputs, const Surroundings& surroundings) {
  const Entry* const entry = find_recorded(step, inputs, surroundings);
  return entry == nullptr ? 0 : 1 + entry->recorded->stage();
}

bool StepGraph::replay(const Step& step, std::span<const Variable> inputs, const Surroundings& surroundings) {
  Entry* const entry = find_recorded(step, inputs, surroundings);
  if (entry == nullptr) return false;
  const profiler::Range range("replay");
  try {
    entry->recorded->replay(inputs);
  } catch (...) {
    entry->reason = "a replay has failed";
    entry->recorded = nullptr;  // and what it has counted on the host is taken back
    throw;
  }
  entry->unused_recordings = 0;
  ++replays_;
  return true;
}

void StepGraph::run(const Step& step, std::span<const Variable> inputs, const Surroundings& surroundings) {
  Entry* entry = find(inputs, surroundings);
  if (entry == nullptr) entry = add(inputs, surroundings);
  if (entry == nullptr || entry->is_plain) return step.run(step.object, inputs);
  if (entry->unused_recordings >= kMostUnusedRecordings) {
    give_up(*entry, std::to_string(kMostUnusedRecordings) + " recordings in a row were of no use, the last because " +
                        entry->reason);
    return step.run(step.object, inputs);
  }
  ++entry->unused_recordings;
  record(*entry, step, inputs);
}

void StepGraph::record(Entry& entry, const Step& step, std::span<const Variable> inputs) {
  const bool was_doubtful = std::exchange(entry.is_doubtful, false);
  entry.recorded = nullptr;
  auto recorder = std::make_unique<Recorder>(name(), options_.fallback, &escaped_);
  Anatomy of_model(step.model), of_all(nullptr);
  Variables given;
  given.reserve(inputs.size());
  for (const Variable& input : inputs) {
    if (!input.is_defined()) {
      recorder->input(Array());
      given.emplace_back();
      continue;
    }
    given.push_back(Variable(recorder->input(input.array()).array, input.requires_grad()));
  }
  {
    const Recorder::Scope scope(*recorder, Phase::forward);
    step.run(step.object, {given.data(), given.size()});
  }
  given.clear();

  std::vector<Recorded::Gradient> gradients;
  std::vector<Recorded::Scale> scales;
  std::unordered_set<const VariableNode*> parameters;
  for (Parameter* const parameter : step.model->params()) {
    VariableNode* const node = parameter->node();
    parameters.insert(node);
    if (recorder->is_refused() || node->grad == nullptr || !recorder->knows(node->grad->array)) continue;
    Recorded::Gradient& gradient = gradients.emplace_back(node, recorder->exported(node->grad->array, Export::arena));
    const Array scale = parameter->device_loss_scale();
    if (!scale.is_defined()) continue;
    const View view = recorder->exported(scale, Export::arena);
    const auto found = std::find_if(scales.begin(), scales.end(),
                                    [&](const Recorded::Scale& scale_of) { return scale_of.lent.view() == view; });
    gradient.scale = static_cast<int32_t>(found - scales.begin());
    if (found == scales.end()) scales.emplace_back(view);
  }
  for (const Recording::Leaf& leaf : recorder->leaves()) {
    const VariableNode* const gradient = leaf.node->grad;
    if (recorder->is_refused() || parameters.contains(leaf.node.get()) || gradient == nullptr) continue;
    if (!recorder->knows(gradient->array)) continue;
    return give_up(entry, name_of(*leaf.node) + " of shape " + to_string(leaf.node->shape()) +
                              " outside of the optimizer's model gets gradients, which nobody clears");
  }
  if (recorder->is_refused()) return give_up(entry, recorder->reason());

  // As replays leave them: otherwise they hold the small arrays of the step's graph, as if these had escaped.
  for (const Recording::Kept& kept : recorder->kept_members()) {
    if (kept.member->is_defined() && kept.member->node() == kept.node) {
      *kept.member = Variable(kept.member->array(), false);
    }
  }
  Recording recording = recorder->finish();
  Link* const model = step.calls_others && points_elsewhere(recording, *step.model) ? nullptr : step.model;
  for (const Recording::Escape& escape : recording.escapes) escaped_.insert(escape.storage_id);
  entry.is_doubtful = !recording.escapes.empty() && !was_doubtful;
  if (options_.verbosity_level > 0) {
    log::info("static_graph '" + name() + "': a step with (" + entry.signature.text() +
              ") is recorded: " + std::to_string(recording.program.steps.size()) + " kernels" +
              (entry.reason.empty() ? "" : "; because " + entry.reason));
  }
  if (entry.is_doubtful) return;
  entry.recorded =
      std::make_unique<Recorded>(std::move(recording), options_, model, std::move(model != nullptr ? of_model : of_all),
                                 std::move(gradients), std::move(scales), std::move(recorder), step.has_states);
}

std::string StepGraph::summary() const {
  std::string text = "static_graph '" + name() + "'\n";
  for (const auto& entry : entries_) {
    text += "(" + entry->signature.text() + "): ";
    if (!entry->recorded) {
      text += entry->is_plain ? "define-by-run\n" : "not recorded yet\n";
      continue;
    }
    text += '\n';
    const Plan& plan = entry->recorded->plan();
    const Packing none;
    const Packing& packing = plan.memories().empty() ? none : plan.memories().front().packing;
    text += graphs::summary(plan.program(), packing, entry->recorded->pass_log());
  }
  return text;
}

std::string StepGraph::dot() const {
  std::string text;
  for (const auto& entry : entries_) {
    if (entry->recorded) text += graphs::dot(entry->recorded->plan().program());
  }
  return text;
}

}  // namespace kusari::graphs
