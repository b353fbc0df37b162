#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/static_graph/recorder.h"
#include "kusari/framework/static_graph/recording.h"
#include "kusari/tests/static_graph/replay.h"

namespace kusari::graphs {

using Callable = std::function<Variables(const std::vector<Variable>&)>;

/// A call that was recorded, forward and backward with the given gradients of the outputs (ones, where none are given);
/// and its replays.
struct TracedCall {
  struct Results {
    std::vector<Array> outputs, gradients;
  };

  std::vector<bool> requires_grad;
  Recorder recorder;
  Recording recording;
  Results first;  // what the call itself gave

  TracedCall(const Callable& call, const std::vector<Variable>& inputs, bool backward = true, bool fallback = false,
             const std::set<uint64_t>* earlier_escapes = nullptr)
      : recorder("Test", fallback, earlier_escapes) {
    std::vector<Variable> arguments;
    for (const Variable& input : inputs)
      arguments.emplace_back(recorder.input(input.array()).array, input.requires_grad());
    Variables y;
    {
      const Recorder::Scope scope(recorder, Phase::forward);
      y = call(arguments);
    }
    if (recorder.is_refused()) return;
    std::vector<View> outputs, output_gradients, gradients;
    for (const Variable& output : y) {
      outputs.push_back(recorder.exported(output.array(), Export::own));
      first.outputs.push_back(output.array());
    }
    if (backward) {
      Variables gy;
      for (const Variable& output : y) {
        const Recorder::Input given = recorder.input(ones_like(output.array()));
        output_gradients.push_back(given.view);
        gy.emplace_back(given.array, false);
      }
      std::vector<Variable> targets = arguments;
      for (const auto& leaf : recorder.leaves()) targets.emplace_back(leaf.node.get());
      Variables gx;
      {
        const Recorder::Scope scope(recorder, Phase::backward);
        gx = grad(std::span<const Variable>(y.data(), y.size()), targets,
                  {.grad_outputs = std::span<const Variable>(gy.data(), gy.size())});
      }
      for (const Variable& g : gx) {
        gradients.push_back(g.is_defined() ? recorder.exported(g.array(), Export::own) : View());
        first.gradients.push_back(g.is_defined() ? g.array() : Array());
      }
    }
    // Members that hold the graph would hold all that its functions retained.
    for (const auto& kept : recorder.kept_members()) *kept.member = Variable(kept.member->array(), false);
    y.clear();
    arguments.clear();
    recording = recorder.finish();
    recording.outputs = outputs;
    recording.output_gradients = output_gradients;
    recording.gradients = gradients;
  }

  /// Other inputs; the gradients of the outputs are ones again.
  Results replay(const std::vector<Variable>& inputs) const {
    PlainReplay replay(recording);
    for (size_t i = 0; i < inputs.size(); ++i) replay.bind(recording.inputs[i], inputs[i].array());
    replay.run(Phase::forward, random::reserve(recording.program.forward_random));
    std::vector<Array> gy;
    for (const View& view : recording.output_gradients) {
      gy.push_back(ones(view.shape, view.dtype, recording.program.slots[static_cast<size_t>(view.slot)].device));
      replay.bind(view, gy.back());
    }
    replay.run(Phase::backward, random::reserve(recording.program.backward_random));
    Results results;
    for (const View& view : recording.outputs) results.outputs.push_back(copy_of(replay, view));
    for (const View& view : recording.gradients) results.gradients.push_back(copy_of(replay, view));
    return results;
  }

 private:
  static Array copy_of(const PlainReplay& replay, const View& view) {
    const Array array = replay.array(view);
    return array.is_defined() ? array.copy() : Array();
  }
};

inline bool equal_bits(const Array& a, const Array& b) {
  if (a.is_defined() != b.is_defined()) return false;
  return !a.is_defined() ||
         (a.shape() == b.shape() && a.dtype() == b.dtype() && a.to_vector<double>() == b.to_vector<double>());
}
inline bool equal_bits(const std::vector<Array>& a, const std::vector<Array>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!equal_bits(a[i], b[i])) return false;
  }
  return true;
}

}  // namespace kusari::graphs
