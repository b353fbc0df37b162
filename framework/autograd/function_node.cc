#include "kusari/framework/autograd/function_node.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "kusari/framework/autograd/function_hook.h"
#include "kusari/framework/autograd/function_range.h"
#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/autograd/undefined_input.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"

namespace kusari {

using detail::VariableNode;

FunctionNode::~FunctionNode() = default;

void FunctionNode::unchain() noexcept {
  const IntrusivePtr<FunctionNode> alive(this);  // the outputs may hold the last references
  for (VariableNode* output : outputs_) {
    if (output != nullptr) output->creator = nullptr;
  }
  outputs_.clear();
  inputs_.clear();
  output_arrays_.reset();
}

void FunctionNode::release_retained() noexcept {
  for (size_t i = 0; i < inputs_.size() && i < 32; ++i) {
    if (inputs_[i] && (retained_inputs_ >> i & 1u) != 0) inputs_[i]->drop_retention();
  }
  for (size_t i = 0; i < outputs_.size() && i < 32; ++i) {
    if (outputs_[i] != nullptr && (retained_outputs_ >> i & 1u) != 0) outputs_[i]->drop_retention();
  }
  retained_inputs_ = retained_outputs_ = 0;
  output_arrays_.reset();
  released_ = true;
}

Arrays FunctionNode::recompute() {
  throw StateError(std::string("F::") + name() + ": calls allow_recompute() but does not override recompute()");
}

// What was computed again stays until those who retained it release it.
void FunctionNode::restore_outputs() {
  const auto mode = no_backprop_mode();
  Arrays arrays = recompute();
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i] == nullptr) continue;
    outputs_[i]->array = std::move(arrays[i]);
    outputs_[i]->recomputable = false;
  }
}

namespace {

// Arrays may still be there although nobody retained them; what would be found missing later is told at once.
bool is_retained(uint32_t mask, size_t i) noexcept { return i >= 32 || (mask >> i & 1u) != 0; }

}  // namespace

void FunctionNode::throw_not_retained(const char* what, size_t i) const {
  if (released_) {
    throw StateError(std::string("F::") + name() +
                     ": backward again through a graph that an earlier backward released (release_graph)");
  }
  throw StateError(std::string("F::") + name() + ": " + what + " " + std::to_string(i) +
                   " was not retained in forward");
}

Variable FunctionNode::retained_input(size_t i) const {
  if (!is_retained(retained_inputs_, i)) throw_not_retained("input", i);
  if (VariableNode* const node = inputs_[i].get(); node != nullptr && !node->array.is_defined()) {
    if (released_ || !node->recomputable || !node->creator) throw_not_retained("input", i);
    node->creator->restore_outputs();
  }
  return Variable(inputs_[i].get());
}

Variable FunctionNode::retained_output(size_t i) {
  if (!is_retained(retained_outputs_, i)) throw_not_retained("output", i);
  if (outputs_[i] != nullptr && !outputs_[i]->array.is_defined() && outputs_[i]->recomputable) restore_outputs();
  if (outputs_[i] != nullptr && outputs_[i]->array.is_defined()) return Variable(outputs_[i]);
  if (!output_arrays_ || !(*output_arrays_)[i].is_defined()) throw_not_retained("output", i);
  // The caller dropped this output; a new vertex takes its place, so that gradients flow through it again.
  Variable revived((*output_arrays_)[i], true);
  VariableNode* const node = revived.node();
  node->creator = IntrusivePtr<FunctionNode>(this);
  node->rank = rank_ + 1;
  node->output_index = static_cast<uint32_t>(i);
  node->add_retention();
  outputs_[i] = node;
  return revived;
}

namespace {

bool any_requires_grad(std::span<const Variable* const> inputs) noexcept {
  for (const Variable* const v : inputs) {  // there are few: std::any_of takes four at a time
    if (v->is_defined() && v->node()->requires_grad) return true;
  }
  return false;
}

// Whether an input is absent.
bool check_devices(const FunctionNode& function, std::span<const Variable* const> inputs) {
  const Array* first = nullptr;
  bool any_absent = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]->is_defined()) {
      any_absent = true;
      continue;
    }
    const Array& array = inputs[i]->array();
    if (!array.is_defined()) {
      throw StateError(std::string("F::") + function.name() + ": argument " + std::to_string(i) +
                       " has no array (an uninitialised parameter?)");
    }
    if (first == nullptr) {
      first = &array;
    } else if (!(array.device() == first->device())) {
      throw TypeError(std::string("F::") + function.name() + ": argument " + std::to_string(i) + " is on " +
                      array.device().name() + " but an earlier one on " + first->device().name());
    }
  }
  return any_absent;
}

// The name of input i in a text: that in the rules, where "xs[i]" speaks of the i-th.
std::string input_name(const char* in_rules, size_t i, size_t count) {
  const std::string index = std::to_string(i);
  std::string name = in_rules != nullptr ? in_rules : count == 1 ? "x" : "argument " + index;
  if (const size_t at = name.find("[i]"); at != std::string::npos) name.replace(at + 1, 1, index);
  return name;
}

std::atomic<detail::UndefinedInputExplainer> g_undefined_input_explainer{nullptr};

void explain_undefined(const FunctionNode& function, std::span<const Variable* const> inputs) {
  const detail::UndefinedInputExplainer explain = g_undefined_input_explainer.load();
  if (explain == nullptr) return;
  const std::string call = std::string("F::") + function.name();
  for (const Variable* const input : inputs) {
    if (!input->is_defined()) explain(call.c_str(), *input);
  }
}

[[noreturn]] void throw_no_result(const FunctionNode& function) {
  throw ValueError(std::string("F::") + function.name() +
                   ": its forward() gave no array: it must give one, or be applied with apply_all()");
}

void check_finite(const FunctionNode& function, const Arrays& outputs) {
  for (const Array& output : outputs) {
    if (!output.is_defined() || !output.is_floating()) continue;
    for (const double value : output.to_vector<double>()) {
      if (value != value) throw Error(std::string("NaN is detected on forward computation of ") + function.name());
    }
  }
}

}  // namespace

void detail::set_undefined_input_explainer(UndefinedInputExplainer explainer) noexcept {
  g_undefined_input_explainer = explainer;
}

bool FunctionApplication::wants_graph(std::span<const Variable* const> inputs) noexcept {
  return config().enable_backprop && any_requires_grad(inputs);
}

// Throws TypeError for an absent input that the function needs, although its rules may not have missed it.
void FunctionApplication::require_inputs(const FunctionNode& function, const ArrayRefs& in) {
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i].is_defined() || function.is_optional(i)) continue;
    TypeCheck::Answer answer{i};
    try {
      function.check(TypeCheck(function.name(), in, answer));
    } catch (const Error& error) {  // with config.type_check off, that a rule is broken is nobody's business here
      if (std::string_view(error.what()).ends_with(" is not given: it is required")) throw;
      continue;
    }
    if (answer.is_optional) continue;
    throw TypeError(std::string("F::") + function.name() + ": " + input_name(answer.name, i, in.size()) +
                    " is not given: it is required");
  }
}

Arrays FunctionApplication::compute(FunctionNode& function, std::span<const Variable* const> inputs) {
  const ArrayRefs in(inputs);
  const bool any_absent = check_devices(function, inputs);
  const Config& settings = config();
  try {
    if (settings.type_check) function.check(TypeCheck(function.name(), in));
    if (any_absent) [[unlikely]]
      require_inputs(function, in);
  } catch (const TypeError&) {
    if (any_absent) explain_undefined(function, inputs);
    throw;
  }
  const bool hooked = detail::t_function_hooks != nullptr;
  if (hooked) [[unlikely]] {
    const ScopedGraphCapture unseen(nullptr);  // hooks look at arrays: no replay does that
    detail::call_forward_preprocess(function, in);
  }
  if (GraphCapture* const capture = GraphCapture::current()) [[unlikely]] {
    for (const Variable* input : inputs) {
      if (input->is_defined()) capture->used(*input);
    }
  }
  const auto forward = [&] {
    const autograd::FunctionRange range(function, "forward", in);
    try {
      return function.forward(in);
    } catch (const std::bad_alloc&) {  // of what is computed on the host, or of a library
    } catch (const std::length_error&) {
    }
    throw OutOfMemoryError(std::string("F::") + function.name() + ": the host's memory is exhausted");
  };
  Arrays out = forward();
  if (hooked) [[unlikely]] {
    const ScopedGraphCapture unseen(nullptr);  // hooks look at arrays: no replay does that
    detail::call_forward_postprocess(function, in, out);
  }
  if (settings.debug) [[unlikely]] {
    check_finite(function, out);
  }
  return out;
}

void FunctionApplication::record(FunctionNode& function, std::span<const Variable* const> inputs) {
  int32_t rank = 0;
  function.inputs_.reserve(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    VariableNode* const node = inputs[i]->node();
    function.inputs_.emplace_back(node);
    if (node == nullptr) continue;
    rank = std::max(rank, node->rank);
    if (i < 32 && (function.retained_inputs_ >> i & 1u) != 0) node->add_retention();
  }
  function.rank_ = rank;
}

Variable FunctionApplication::connect(FunctionNode& function, Array array, size_t index) {
  Variable output(new VariableNode(std::move(array), true));
  VariableNode* const node = output.node();
  node->creator = IntrusivePtr<FunctionNode>(&function);
  node->rank = function.rank_ + 1;
  node->output_index = static_cast<uint32_t>(index);
  if (index < 32 && (function.retained_outputs_ >> index & 1u) != 0) node->add_retention();
  node->recomputable = function.recomputable_;
  function.outputs_.push_back(node);
  return output;
}

Variable FunctionApplication::run_single(FunctionNode& function, std::span<const Variable* const> inputs) {
  if (detail::t_input_caster == nullptr) [[likely]]
    return run_plain_single(function, inputs);
  const detail::CastInputs cast(function, inputs);
  return run_plain_single(function, cast.get());
}

void FunctionApplication::tell_hooks(const FunctionNode& function, std::span<const Variable* const> inputs,
                                     std::span<const Variable> outputs) {
  const ScopedGraphCapture unseen(nullptr);  // hooks look at arrays: no replay does that
  detail::call_called(function, inputs, outputs);
}

Variable FunctionApplication::run_plain_single(FunctionNode& function, std::span<const Variable* const> inputs) {
  Arrays out = compute(function, inputs);
  if (out.empty() || !out[0].is_defined()) [[unlikely]]
    throw_no_result(function);
  Variable result;
  if (function.recording_) {
    record(function, inputs);
    result = connect(function, std::move(out[0]), 0);
  } else {
    result = Variable(new VariableNode(std::move(out[0]), any_requires_grad(inputs)));
  }
  if (detail::t_function_hooks != nullptr) [[unlikely]]
    tell_hooks(function, inputs, {&result, 1});
  return result;
}

Variables FunctionApplication::run(FunctionNode& function, std::span<const Variable* const> inputs) {
  if (detail::t_input_caster == nullptr) [[likely]]
    return run_plain(function, inputs);
  const detail::CastInputs cast(function, inputs);
  return run_plain(function, cast.get());
}

Variables FunctionApplication::run_plain(FunctionNode& function, std::span<const Variable* const> inputs) {
  Arrays out = compute(function, inputs);
  Variables result;
  result.reserve(out.size());
  if (!function.recording_) {
    const bool requires_grad = any_requires_grad(inputs);
    for (Array& array : out) result.emplace_back(new VariableNode(std::move(array), requires_grad));
    if (detail::t_function_hooks != nullptr) [[unlikely]]
      tell_hooks(function, inputs, {result.data(), result.size()});
    return result;
  }
  record(function, inputs);
  if (function.retained_outputs_ != 0 && out.size() > 1) {
    // With one output, backward comes through it, so it is alive; of several, some may be gone by then.
    function.output_arrays_ = Owned(new Arrays(out.size()));
    for (size_t i = 0; i < out.size() && i < 32; ++i) {
      if ((function.retained_outputs_ >> i & 1u) != 0) (*function.output_arrays_)[i] = out[i];
    }
  }
  for (size_t i = 0; i < out.size(); ++i) result.push_back(connect(function, std::move(out[i]), i));
  if (detail::t_function_hooks != nullptr) [[unlikely]]
    tell_hooks(function, inputs, {result.data(), result.size()});
  return result;
}

}  // namespace kusari
