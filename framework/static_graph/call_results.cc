#include "kusari/framework/static_graph/call_results.h"

#include <utility>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/core/reporter.h"

namespace kusari::graphs {
namespace {

RandomState reserve(uint64_t count) { return count == 0 ? RandomState() : random::reserve(count); }

// The elements in memory as the recording has them.
Array conformed(const Array& array, const View& recorded) {
  if (array.strides() == recorded.strides) return array;
  const Array result = empty_strided(recorded.shape, recorded.strides, recorded.dtype, array.device());
  result.copy_from(array);
  return result;
}

}  // namespace

void CallResults::clear_members() const {
  for (const Member& each : members) *each.member = Variable();
}

Variables CallResults::deliver(Variables outputs) const {
  for (size_t i = 0; i < results.size(); ++i) {
    const Result& result = results[i];
    if (!result.is_defined) {
      outputs[i] = Variable();
    } else if (!result.is_connected) {
      outputs[i].unchain();
      outputs[i].node()->requires_grad = result.requires_grad;
    }
  }
  for (const Member& each : members) {
    *each.member = each.result < 0 ? Variable() : outputs[static_cast<size_t>(each.result)];
  }
  outputs.resize(returned);
  return outputs;
}

std::string RecordedCall::changed(Link* model) {
  return is_outdated_ ? "backward reaches more outputs than before" : bindings_.changed(model);
}

RecordedCall::RecordedCall(Recording recording, const StaticGraphPasses& passes, Context context,
                           std::shared_ptr<Scratch> scratch)
    : inputs_{std::move(recording.inputs)},
      outputs_{std::move(recording.outputs)},
      output_gradients_{std::move(recording.output_gradients)},
      gradients_{std::move(recording.gradients)},
      reports_{recording.reports},
      before_{std::move(recording.before)},
      after_{std::move(recording.after)},
      bindings_{recording, context.model, std::move(context.anatomy)},
      results_{std::move(context.results)},
      recorder_{std::move(context.recorder)},
      open_calls_{std::move(context.open_calls)},
      copies_outputs_{context.copies_outputs},
      has_backward_{!gradients_.empty()},
      leaf_count_{context.leaves},
      plan_{rewritten(std::move(recording.program), passes, log_)} {
  if (!has_backward_) scratch_ = std::move(scratch);
  copies_outputs_ &= plan_.uses_graphs();
}

// What stayed behind from the recorded call is not what a plain call would leave there now.
void RecordedCall::expire() noexcept {
  recorder_->expire();
  recorder_ = nullptr;
}

std::unique_ptr<Instance> RecordedCall::take_instance() {
  if (recorder_) [[unlikely]]
    expire();
  if (!free_.empty()) {
    std::unique_ptr<Instance> instance = std::move(free_.back());
    free_.pop_back();
    return instance;
  }
  auto instance = std::make_unique<Instance>(plan_, scratch_);
  bindings_.bind_externals(*instance);
  return instance;
}

void RecordedCall::give_back(std::unique_ptr<Instance> instance) noexcept {
  instance->unbind();
  free_.push_back(std::move(instance));
}

Arrays RecordedCall::forward(Instance& instance, const ArrayRefs& inputs) {
  for (const auto& action : before_) action();
  instance.begin();
  bindings_.bind_leaves(instance);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].is_defined()) instance.bind(inputs_[i], inputs[i]);
  }
  instance.run(Phase::forward, reserve(plan_.program().forward_random));
  Arrays outputs;
  outputs.reserve(outputs_.size());
  for (const View& view : outputs_) {
    Array output = instance.array_of(view);
    outputs.push_back(copies_outputs_ && output.is_defined() ? output.copy() : std::move(output));
  }
  if (!reports_.empty() && get_current_reporter() != nullptr) report(instance);
  for (const auto& action : after_) action();
  return outputs;
}

void RecordedCall::report(const Instance& instance) const {
  for (const Recording::Report& each : reports_) {
    const Array value = instance.array_of(each.value);
    kusari::report({Reported(each.key, copies_outputs_ ? value.copy() : value, each.weight)}, each.observer);
  }
}

Variables RecordedCall::backward(Instance& instance, const Variables& gy) {
  if (const Recording::Leaf* const leaf = bindings_.replaced_leaf(instance)) {
    throw StateError("static_graph '" + name() + "': " + replaced_text(*leaf->node) +
                     "; copy numbers into the array that it has, or do so after backward");
  }
  for (size_t i = 0; i < gy.size(); ++i) {
    const View& recorded = output_gradients_[i];
    if (!recorded.is_defined()) {
      if (!gy[i].is_defined()) continue;
      is_outdated_ = true;
      throw StateError("static_graph '" + name() + "': backward reaches output " + std::to_string(i) +
                       ", which it did not when the call was recorded; the next call will be recorded anew");
    }
    Array gradient = gy[i].is_defined() ? gy[i].array() : Array();
    if (gradient.is_defined() && gradient.storage().stale != nullptr) {
      kusari::detail::throw_stale("static_graph '" + name() + "'", gradient);
    }
    if (!gradient.is_defined()) gradient = zeros(recorded.shape, recorded.dtype, device_of(recorded));
    instance.bind(recorded, conformed(gradient, recorded));
  }
  instance.run(Phase::backward, reserve(plan_.program().backward_random));
  Variables gx;
  gx.reserve(gradients_.size());
  for (const View& view : gradients_) {
    const Array gradient = instance.array_of(view);
    gx.push_back(gradient.is_defined() ? Variable(gradient, false) : Variable());
  }
  return gx;
}

}  // namespace kusari::graphs
