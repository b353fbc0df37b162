#include "kusari/framework/onnx/export/trace.h"

#include <algorithm>
#include <utility>

#include "kusari/framework/autograd/function_hook.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/kernel.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/state.h"
#include "kusari/framework/onnx/export/recorder.h"

namespace kusari::onnx::exporting {
namespace {

thread_local TraceRecorder* t_recorder = nullptr;

// Gives the states of a model back what they were.
class KeptStates {
 public:
  explicit KeptStates(Link* link) {
    if (link == nullptr) return;
    for (const auto& [path, state] : states(*link)) kept_.emplace_back(state, *state);
  }
  KeptStates(const KeptStates&) = delete;
  KeptStates& operator=(const KeptStates&) = delete;
  ~KeptStates() {
    for (auto& [state, value] : kept_) *state = value;
  }

 private:
  std::vector<std::pair<Variable*, Variable>> kept_;
};

}  // namespace

Sizes Value::sizes(int axis) const {
  Sizes all{array.shape()[axis]};
  for (const Shape& shape : elsewhere) all.push_back(shape[axis]);
  return all;
}

bool Value::is_dynamic() const {
  return std::any_of(elsewhere.begin(), elsewhere.end(), [&](const Shape& shape) { return shape != array.shape(); });
}

std::string Call::place() const { return "call " + std::to_string(number) + (link.empty() ? "" : ", link " + link); }

ArrayKey key_of(const Array& array) {
  ArrayKey key{array.storage().id, array.raw_data(), array.dtype(), {array.shape().begin(), array.shape().end()}};
  if (!array.is_contiguous()) {
    for (int i = 0; i < array.ndim(); ++i) key.geometry.push_back(array.shape()[i] > 1 ? array.strides()[i] : 0);
  }
  return key;
}

Array without_repeats(Array array) {
  for (int axis = 0; axis < array.ndim(); ++axis) {
    if (array.strides()[axis] == 0 && array.shape()[axis] > 1) array = array.slice(axis, 0, 1);
  }
  return array;
}

int Trace::find(const Array& array) const {
  const auto found = by_key.find(key_of(array));
  return found == by_key.end() ? kAbsent : found->second;
}

bool Trace::knows(uint64_t storage) const {
  const auto first = by_key.lower_bound({storage, nullptr, Dtype{}, {}});
  return first != by_key.end() && first->first.storage == storage;
}

TraceRecorder::TraceRecorder(Trace& trace, Link* root) : trace_{trace}, root_{root}, previous_{t_recorder} {
  t_recorder = this;
}
TraceRecorder::~TraceRecorder() { t_recorder = previous_; }
TraceRecorder* TraceRecorder::current() noexcept { return t_recorder; }

int TraceRecorder::add(Value value) {
  const int id = static_cast<int>(trace_.values.size());
  if (value.variable.is_defined()) by_node_.emplace(value.variable.node(), id);
  trace_.by_key.insert_or_assign(key_of(value.array), id);
  if (value.kind != Value::Kind::constant) {
    trace_.dependent.emplace(value.array.storage().id, "F::" + (value.label.empty() ? "identity" : value.label));
  }
  trace_.values.push_back(std::move(value));
  return id;
}

int TraceRecorder::argument(const Variable& x) {
  const int id = add({Value::Kind::argument, x, x.array()});
  trace_.arguments.push_back(id);
  return id;
}

int TraceRecorder::id_of(const Variable& variable, const std::string& reader) {
  if (!variable.is_defined()) return kAbsent;
  if (const int id = find_or_enter(variable); id != kAbsent) return id;
  throw StateError("onnx: " + reader + " (" + place() + ") reads an array of shape " + to_string(variable.shape()) +
                   " that " + trace_.dependent.at(variable.array().storage().id) +
                   " made of an argument of the model, outside of functions: it would become a constant");
}

int TraceRecorder::find_or_enter(const Variable& variable) {
  const auto found = by_node_.find(variable.node());
  if (found != by_node_.end() && trace_.values[static_cast<size_t>(found->second)].array.is_same(variable.array())) {
    return found->second;
  }
  const Array& array = variable.array();
  if (const int id = trace_.find(array); id != kAbsent) return id;
  if (!trace_.dependent.contains(array.storage().id)) return add({Value::Kind::constant, variable, array});
  if (const auto noted = noted_.find(key_of(array)); noted != noted_.end()) return enter(noted->second);
  return enter_reshaped(variable);
}

int TraceRecorder::enter_reshaped(const Variable& variable) {
  const Array& array = variable.array();
  const auto is_alike = [&](const Array& other) {
    return other.is_contiguous() && array.is_contiguous() && other.raw_data() == array.raw_data() &&
           other.size() == array.size() && other.dtype() == array.dtype();
  };
  int source = kAbsent;
  for (size_t i = 0; i < trace_.values.size() && source == kAbsent; ++i) {
    const Value& value = trace_.values[i];
    const int id = static_cast<int>(i);
    if (value.kind != Value::Kind::constant && is_alike(value.array) && trace_.find(value.array) == id) source = id;
  }
  for (auto noted = noted_.begin(); noted != noted_.end() && source == kAbsent; ++noted) {
    if (is_alike(noted->second.output)) source = enter(noted->second);
  }
  if (source == kAbsent) return kAbsent;
  Call call{"reshape", {}, {source}, {}, path_, ++count_};
  call.options.set("shape", array.shape());
  const int id = add({Value::Kind::computed, variable, array, "reshape"});
  call.outputs = {id};
  trace_.calls.push_back(std::move(call));
  return id;
}

int TraceRecorder::enter(const Noted& noted) {
  Call call{noted.operation->function, {}, {}, {}, noted.link, 0};
  if (noted.number) call.options.set("c", *noted.number);
  for (const Array& x : noted.inputs) {
    const int id = find_or_enter(Variable(x, false));
    if (id == kAbsent) return kAbsent;
    call.inputs.push_back(id);
  }
  call.number = ++count_;
  const int id = add({Value::Kind::computed, Variable(noted.output, false), noted.output, call.function});
  call.outputs = {id};
  trace_.calls.push_back(std::move(call));
  return id;
}

void TraceRecorder::note(const Launch& launch) {
  using Kind = LaunchArgument::Kind;
  const ArrayOperation* const operation = find_array_operation(launch.id);
  if (operation == nullptr) return;
  Noted noted{operation, std::nullopt, {}, {}, path_};
  for (const LaunchArgument& argument : launch.arguments) {
    if (argument.kind == Kind::params && operation->has_number) {
      noted.number = *static_cast<const double*>(argument.value);
    } else if (argument.kind == Kind::in) {
      noted.inputs.push_back(*static_cast<const Array*>(argument.value));
    } else if (argument.kind == Kind::out) {
      noted.output = *static_cast<const Array*>(argument.value);
    }
  }
  const auto is_output = [&](const Array& x) { return x.storage().id == noted.output.storage().id; };
  if (std::any_of(noted.inputs.begin(), noted.inputs.end(), is_output)) return;  // in place: the operand is no more
  noted_.insert_or_assign(key_of(noted.output), noted);
}

void TraceRecorder::forget(uint64_t storage) {
  const auto is_there = [&](const Array& array) { return array.storage().id == storage; };
  std::erase_if(noted_, [&](const auto& entry) {
    const Noted& noted = entry.second;
    return is_there(noted.output) || std::any_of(noted.inputs.begin(), noted.inputs.end(), is_there);
  });
  std::erase_if(by_node_,
                [&](const auto& entry) { return is_there(trace_.values[static_cast<size_t>(entry.second)].array); });
  std::erase_if(trace_.by_key, [&](const auto& entry) { return entry.first.storage == storage; });
}

std::string TraceRecorder::place() const {
  return "call " + std::to_string(count_ + 1) + (path_.empty() ? "" : ", link " + path_);
}

void TraceRecorder::host_reads(const char* call, const Array& array) {
  if (depth_ > 0 || muted_ > 0) return;
  const auto source = trace_.dependent.find(array.storage().id);
  if (source == trace_.dependent.end()) return;
  throw StateError("onnx: before " + place() + ", " + call + " reads an array of shape " + to_string(array.shape()) +
                   " that " + source->second +
                   " made of an argument of the model: what the host makes of it would become a constant");
}

void TraceRecorder::copied_between_devices(const Array& from, const Array& to) {
  if (trace_.dependent.contains(from.storage().id)) trace_.dependent.emplace(to.storage().id, "a copy between devices");
}

void TraceRecorder::forward_preprocess(const FunctionNode& function, const ArrayRefs&) {
  if (depth_++ == 0) reader_ = std::string("F::") + function.name();
}

void TraceRecorder::forward_postprocess(const FunctionNode&, const ArrayRefs&, const Arrays&) { --depth_; }

void TraceRecorder::called(const FunctionNode& function, std::span<const Variable* const> in,
                           std::span<const Variable> out) {
  if (depth_ > 0 || muted_ > 0) return;
  Call call{function.name(), {}, {}, {}, path_, 0};
  const std::string reader = std::string("F::") + function.name();
  for (const Variable* x : in) call.inputs.push_back(id_of(*x, reader));
  function.describe(call.options);
  record(std::move(call), out);
}

void TraceRecorder::record(Call call, std::span<const Variable> out) {
  for (const auto& [name, value] : call.options) {
    const Array* const array = std::get_if<Array>(&value);
    if (array == nullptr || !array->is_defined() || !trace_.dependent.contains(array->storage().id)) continue;
    find_or_enter(Variable(without_repeats(*array), false));
  }
  call.number = ++count_;
  const auto depends = [&](int id) {
    return id != kAbsent && trace_.values[static_cast<size_t>(id)].kind != Value::Kind::constant;
  };
  // Weights of 8 bits are constants that stay integers.
  bool is_constant = call.function != "fake_quantize" && std::none_of(call.inputs.begin(), call.inputs.end(), depends);
  for (const auto& [name, value] : call.options) {
    const Array* const array = std::get_if<Array>(&value);
    if (array != nullptr && array->is_defined() && trace_.dependent.contains(array->storage().id)) is_constant = false;
  }
  std::string label;
  for (const int id : call.inputs) {
    if (is_constant && label.empty() && id != kAbsent) label = "~" + std::to_string(id) + "." + call.function;
  }
  bool is_new = false;
  for (const Variable& y : out) {
    // What only hands its argument through, as F::forget does.
    const int known = is_constant || !y.array().is_defined() ? kAbsent : trace_.find(y.array());
    if (known != kAbsent && call.function == "forget") {
      by_node_.emplace(y.node(), known);
      held_.push_back(y);
      call.outputs.push_back(known);
      continue;
    }
    is_new = true;
    call.outputs.push_back(add({is_constant ? Value::Kind::constant : Value::Kind::computed, y, y.array(),
                                is_constant ? label : call.function}));
    if (is_constant && call.function == "broadcast_to") trace_.values.back().broadcast_of = call.inputs[0];
  }
  if (is_new) (is_constant ? trace_.constant_calls : trace_.calls).push_back(std::move(call));
}

void TraceRecorder::on_launch(const Launch& launch, void (*proceed)(const Launch&)) {
  proceed(launch);
  using Kind = LaunchArgument::Kind;
  const auto each = [&](const LaunchArgument& argument, const auto& visit) {
    if (argument.kind == Kind::in || argument.kind == Kind::out || argument.kind == Kind::in_out) {
      const Array& array = *static_cast<const Array*>(argument.value);
      if (array.is_defined()) visit(array);
    } else if (argument.kind == Kind::in_list || argument.kind == Kind::out_list ||
               argument.kind == Kind::in_out_list) {
      for (const Array& array : *static_cast<const std::span<const Array>*>(argument.value)) {
        if (array.is_defined()) visit(array);
      }
    }
  };
  bool depends = false;
  for (const LaunchArgument& argument : launch.arguments) {
    if (argument.kind == Kind::out || argument.kind == Kind::out_list) continue;
    each(argument, [&](const Array& array) { depends |= trace_.dependent.contains(array.storage().id); });
  }
  const bool is_outside = depth_ == 0 && muted_ == 0;
  for (const LaunchArgument& argument : launch.arguments) {
    if (argument.kind == Kind::in || argument.kind == Kind::in_list) continue;
    each(argument, [&](const Array& array) {
      const uint64_t storage = array.storage().id;
      const bool is_known = trace_.dependent.contains(storage);
      if (depends && !is_known) {
        trace_.dependent.emplace(storage, depth_ > 0 ? reader_ : std::string("kernel '") + launch.name + "'");
      }
      if (is_outside && (is_known || (depends && trace_.knows(storage)))) forget(storage);
    });
  }
  if (depends && is_outside) note(launch);
}

void TraceRecorder::forward_preprocess(Link& link) {
  auto found = paths_.find(&link);
  if (found == paths_.end() && root_ != nullptr) {
    paths_.clear();
    for (const auto& [path, each] : root_->namedlinks()) paths_.emplace(each, path);
    found = paths_.find(&link);
  }
  outer_.push_back(path_);
  if (found != paths_.end()) path_ = found->second == "/" ? "" : found->second;
}

void TraceRecorder::forward_postprocess(Link&) {
  path_ = outer_.back();
  outer_.pop_back();
}

Trace trace(const detail::ModelCall& call, Link* link, std::span<const Variable> inputs, bool train) {
  Trace result;
  const auto mode = using_config(&Config::train, train);
  const auto without_graph = no_backprop_mode();
  const KeptStates kept(link);
  TraceRecorder recorder(result, link);
  // Of their own, so that each argument is a value: one may be given twice, or be a parameter.
  Variables arguments;
  for (const Variable& x : inputs) {
    arguments.push_back(Variable(x.array().copy(), false));
    recorder.argument(arguments.back());
  }
  const ScopedFunctionHook functions(recorder);
  const ScopedLinkHook links(recorder);
  const ScopedLaunchObserver launches(recorder);
  const ScopedGraphCapture capture(&recorder);
  const Variables outputs = call({arguments.data(), arguments.size()});
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].is_defined()) {
      throw StateError("onnx: output " + std::to_string(i) + " of the model is undefined");
    }
    result.results.push_back(recorder.id_of(outputs[i], "the result of the model"));
  }
  return result;
}

}  // namespace kusari::onnx::exporting
