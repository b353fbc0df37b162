#include "kusari/framework/static_graph/static_call.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <utility>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_hook.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/profiler.h"

namespace kusari::graphs {

using kusari::detail::VariableNode;

namespace {

[[noreturn]] void throw_spent(const std::string& graph) {
  throw StateError("static_graph '" + graph +
                   "': backward again through the same call, whose memory an earlier backward has given back");
}

// In front of an input while a call is recorded. The call's own gradients end before it; those that come here come by a
// way that replays would not see, and would be lost.
class Entrance final : public FunctionNode {
 public:
  explicit Entrance(const std::string& graph) : graph_{graph} {}
  const char* name() const override { return "static_graph_input"; }
  void describe(Attributes& options) const override { options.set("graph", graph_); }
  Precision precision() const noexcept override { return Precision::untouched; }

 private:
  Arrays forward(const ArrayRefs& in) override { return {in[0]}; }
  Variables backward(const Variables&) override {
    throw StateError("static_graph '" + graph_ +
                     "': backward reaches an argument of the call from a variable that is none of its results; return "
                     "that variable from the call, too");
  }

  const std::string graph_;
};

// Hooks do not see it: no call of the program.
Variable entered(const Variable& input, const std::string& graph) {
  struct Unhooked {
    FunctionHook* hooks = std::exchange(kusari::detail::t_function_hooks, nullptr);
    ~Unhooked() { kusari::detail::t_function_hooks = hooks; }
  } const unhooked;
  return apply<Entrance>({input}, graph);
}

// An instance that goes back to the others, also after an exception, unless it is taken out.
struct Lease {
  RecordedCall& recorded;
  std::unique_ptr<Instance> instance;
  ~Lease() {
    if (instance) recorded.give_back(std::move(instance));
  }
};

}  // namespace

// --- recording ------------------------------------------------------------------------------------------------------

LiveCall::LiveCall(std::string name, std::unique_ptr<Recorder> recorder, std::shared_ptr<RecordingObserver> observer)
    : name_{std::move(name)}, recorder_{std::move(recorder)}, observer_{std::move(observer)} {}

LiveCall::~LiveCall() {
  if (observer_) observer_->abandoned(has_results_ ? "no backward came; set no_backprop_mode() where none will" : "");
}

Variable LiveCall::add_input(const Variable& input) {
  if (!input.is_defined()) {
    inputs_.emplace_back();
    input_views_.emplace_back();
    return Variable();
  }
  Recorder::Input given = recorder_->input(input.array());
  const Variable leaf(given.array, input.requires_grad());
  const Variable inside = entered(leaf, name_);
  inside.node()->rank = input.rank();  // gradients then add up in the order of the graph around
  inputs_.emplace_back(inside.node());
  input_views_.push_back(std::move(given.view));
  return inside;
}

// Not a leaf that the call has made itself, whose gradient nobody else waits for.
bool LiveCall::is_leaf_of_call(const Variable& result) const {
  const auto leaves = recorder_->leaves();
  return recorder_->is_refused() || std::any_of(leaves.begin(), leaves.end(), [&](const Recording::Leaf& leaf) {
           return leaf.node.get() == result.node();
         });
}

void LiveCall::add_results(const Variables& results, Link* model, size_t carried) {
  carried_ = carried;
  for (const Recording::Leaf& leaf : recorder_->leaves()) {
    const VariableNode* const grad = leaf.node->grad;
    if (grad != nullptr && grad->array.is_defined() && recorder_->knows(grad->array)) {
      recorder_->refuse(
          "the call goes backward itself, and replays would leave the gradients of parameters as they are; "
          "return the loss, and call backward() on it");
      break;
    }
  }
  const auto add = [&](const Variable& result) {
    CallResults::Result& known = results_.results.emplace_back();
    known.is_defined = result.is_defined();
    if (!known.is_defined) {
      outputs_.emplace_back();
      output_views_.emplace_back();
      arrays_.emplace_back();
      return;
    }
    known.requires_grad = result.requires_grad();
    known.is_connected =
        result.creator() != nullptr || (result.requires_grad() && config().enable_backprop && is_leaf_of_call(result));
    outputs_.emplace_back(result.node());
    output_views_.push_back(recorder_->exported(result.array(), Export::own));
    arrays_.push_back(recorder_->lent(result.array()));
  };
  for (const Variable& result : results) add(result);
  results_.returned = results.size();
  for (const Recording::Kept& kept : recorder_->kept_members()) {
    const VariableNode* const node = kept.member->node();
    int32_t index = -1;
    if (node != nullptr) {
      const auto found = std::find_if(outputs_.begin(), outputs_.end(), [&](const Node& o) { return o.get() == node; });
      index = static_cast<int32_t>(found - outputs_.begin());
      if (found == outputs_.end()) add(*kept.member);
    }
    results_.members.push_back({kept.member, index});
  }
  results_.clear_members();
  find_leaves();
  for (const Node& leaf : leaves_) leaf_storages_.push_back(leaf->array.storage().id);
  if (model != nullptr) home_ = model->home();
  anatomy_ = Anatomy(model);
  lent_ = arrays_;
  has_results_ = true;
}

// The recorder knows them, unless it was refused: then they are where the graph ends.
void LiveCall::find_leaves() {
  if (!recorder_->is_refused()) {
    for (const Recording::Leaf& leaf : recorder_->leaves()) leaves_.push_back(leaf.node);
    return;
  }
  std::unordered_set<const VariableNode*> seen;
  for (const Node& input : inputs_) seen.insert(input.get());
  std::vector<VariableNode*> pending;
  for (const Node& output : outputs_) pending.push_back(output.get());
  while (!pending.empty()) {
    VariableNode* const node = pending.back();
    pending.pop_back();
    if (node == nullptr || !node->requires_grad || !seen.insert(node).second) continue;
    if (node->is_leaf()) {
      leaves_.emplace_back(node);
      continue;
    }
    for (size_t i = 0; i < node->creator->input_count(); ++i) pending.push_back(node->creator->input_node(i));
  }
}

const VariableNode* LiveCall::replaced_leaf() const noexcept {
  for (size_t i = 0; i < leaves_.size(); ++i) {
    const Array& array = leaves_[i]->array;
    if (array.is_defined() && array.storage().id != leaf_storages_[i]) return leaves_[i].get();
  }
  return nullptr;
}

void LiveCall::finish() {
  outputs_.clear();
  inputs_.clear();
  lent_.clear();
  const std::shared_ptr<RecordingObserver> observer = std::move(observer_);
  if (recorder_->is_refused()) return observer->refused(recorder_->reason());
  Link* const model = home_ ? home_->find() : nullptr;
  if (home_ && model == nullptr) return observer->abandoned("the model was gone before backward came");
  Recording recording;
  try {
    recording = recorder_->finish();
  } catch (...) {
    observer->abandoned("");
    throw;
  }
  if (recorder_->is_refused()) return observer->refused(recorder_->reason());
  recording.inputs = std::move(input_views_);
  recording.outputs = std::move(output_views_);
  recording.output_gradients = std::move(seed_views_);
  recording.gradients = std::move(gradient_views_);
  observer->recorded(std::move(recorder_), std::move(recording),
                     {.model = model,
                      .anatomy = std::move(anatomy_),
                      .results = results_,
                      .recorder = nullptr,
                      .copies_outputs = false,
                      .leaves = leaves_.size()});
}

Variables LiveCall::backward(const Variables& gy) {
  if (std::exchange(is_spent_, true)) throw_spent(name_);
  try {
    return record_backward(gy);
  } catch (...) {
    if (const std::shared_ptr<RecordingObserver> observer = std::move(observer_)) observer->abandoned("");
    throw;
  }
}

Variables LiveCall::record_backward(const Variables& gy) {
  const VariableNode* const replaced = recorder_->is_refused() ? nullptr : replaced_leaf();
  // Views of results that come back as gradients, or of one another, get memory of their own like every argument; only
  // what is dense can be laid out alike again.
  SmallVector<Array, 2> seeds;
  const Variable& reached = *std::find_if(gy.begin(), gy.end(), [](const Variable& g) { return g.is_defined(); });
  for (size_t i = 0; i < gy.size(); ++i) {
    Array seed = gy[i].is_defined() ? gy[i].array() : Array();
    const bool is_state = i < results_.returned && i + carried_ >= results_.returned;
    if (!seed.is_defined() && is_state && results_.results[i].is_connected) {
      seed = zeros(outputs_[i]->shape(), outputs_[i]->dtype(), reached.device());
    }
    if (seed.is_defined() && !seed.is_dense()) seed = seed.copy();
    if (recorder_->is_refused() || replaced != nullptr) {
      seed_views_.emplace_back();
    } else {
      Recorder::Input given = recorder_->input(seed);
      seed = given.array;
      seed_views_.push_back(std::move(given.view));
    }
    seeds.push_back(std::move(seed));
  }
  Variables gx;
  if (replaced != nullptr) {
    gx = differentiate(seeds);
    lent_.clear();
    std::exchange(observer_, nullptr)->abandoned(replaced_text(*replaced));
    return gx;
  }
  if (recorder_->is_refused()) {
    gx = differentiate(seeds);
  } else {
    const Recorder::Scope scope(*recorder_, Phase::backward);
    gx = differentiate(seeds);
  }
  for (Variable& each : gx) {
    if (each.is_defined() && recorder_->is_lent(each.array())) each = Variable(each.array().copy(), false);
    gradient_views_.push_back(recorder_->exported(each.is_defined() ? each.array() : Array(), Export::own));
  }
  finish();
  return gx;
}

Variables LiveCall::differentiate(std::span<const Array> seeds) {
  SmallVector<Variable, 2> outputs, grad_outputs, targets;
  for (size_t i = 0; i < seeds.size(); ++i) {
    if (!seeds[i].is_defined()) continue;
    outputs.emplace_back(outputs_[i].get());
    grad_outputs.emplace_back(seeds[i], false);
  }
  SmallVector<size_t, 8> places;
  const auto add_target = [&](const Node& node) {
    if (node && node->requires_grad) {
      places.push_back(targets.size());
      targets.emplace_back(node.get());
    } else {
      places.push_back(SIZE_MAX);
    }
  };
  for (const Node& input : inputs_) add_target(input);
  for (const Node& leaf : leaves_) add_target(leaf);
  outputs_.clear();
  inputs_.clear();
  const Variables found = grad({outputs.data(), outputs.size()}, {targets.data(), targets.size()},
                               {.grad_outputs = {grad_outputs.data(), grad_outputs.size()}, .release_graph = true});
  Variables gx;
  gx.reserve(places.size());
  for (const size_t place : places) gx.push_back(place == SIZE_MAX ? Variable() : found[place]);
  return gx;
}

// --- the node -------------------------------------------------------------------------------------------------------

StaticCall::~StaticCall() {
  if (instance_) recorded_->give_back(std::move(instance_));
}

Arrays StaticCall::forward(const ArrayRefs& in) {
  const size_t arguments = live_ ? live_->input_count() : recorded_->input_count();
  for (size_t i = 0; is_recording() && i < arguments; ++i) {
    storages_.push_back(in[i].is_defined() ? in[i].storage().id : 0);
  }
  if (live_) return live_->take_outputs();
  const profiler::Range range(recorded_->name());
  Lease lease{*recorded_, recorded_->take_instance()};
  Arrays outputs = recorded_->forward(*lease.instance, in);
  if (is_recording()) {
    open_ = recorded_->open();
    instance_ = std::move(lease.instance);
  }
  return outputs;
}

// Define-by-run would go on with the new numbers, in those gradients that depend on them.
void StaticCall::check_arguments(const std::string& graph) const {
  for (size_t i = 0; i < storages_.size(); ++i) {
    const VariableNode* const node = input_node(i);
    if (node == nullptr || !node->array.is_defined() || node->array.storage().id == storages_[i]) continue;
    throw StateError("static_graph '" + graph + "': argument " + std::to_string(i) +
                     " got another array between the call and its backward");
  }
}

Variables StaticCall::backward(const Variables& gy) {
  const std::string& graph = live_ ? live_->name() : recorded_->name();
  if (config().enable_backprop) {
    throw StateError("static_graph '" + graph +
                     "': gradients of gradients (enable_double_backprop) need define-by-run: set "
                     "config().use_static_graph = false for this computation");
  }
  check_arguments(graph);
  const profiler::Range range(graph);
  if (live_) return live_->backward(gy);
  if (!instance_) throw_spent(graph);
  const Lease lease{*recorded_, std::move(instance_)};
  return recorded_->backward(*lease.instance, gy);
}

}  // namespace kusari::graphs
