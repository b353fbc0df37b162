#include "kusari/framework/onnx/model.h"

#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/onnx/compile.h"
#include "kusari/framework/onnx/operators/subgraph.h"

namespace kusari::onnx {

namespace {

/// Numbers of so many elements at most are also kept on the host, where shapes may be worked out from them.
constexpr int64_t kMaxOnHost = 4096;
/// Folded integers of so many at most are no members: they are what remains of shapes.
constexpr int64_t kMaxPlain = 64;

std::string shape_text(const Argument& argument) {
  std::string text = "(";
  for (size_t i = 0; i < argument.shape->size(); ++i) {
    const int64_t size = (*argument.shape)[i];
    text += (i > 0 ? ", " : "") + (size >= 0                        ? std::to_string(size)
                                   : argument.axis_names[i].empty() ? "?"
                                                                    : argument.axis_names[i]);
  }
  return text + (argument.shape->size() == 1 ? ",)" : ")");
}

}  // namespace

Model::Model(CompiledModel compiled, std::vector<Argument> inputs, std::vector<Argument> outputs,
             std::map<std::string, std::string> metadata, std::string source)
    : inputs_{std::move(inputs)},
      outputs_{std::move(outputs)},
      metadata_{std::move(metadata)},
      source_{std::move(source)} {
  for (const Constant& constant : compiled.constants) {
    Held held;
    const bool is_plain = !kusari::is_floating(constant.numbers.dtype()) && constant.numbers.size() <= kMaxPlain;
    if (constant.is_parameter || !is_plain) {
      held.member = static_cast<int>(members_.size());
      members_.push_back({add(constant.name, constant.numbers, constant.is_parameter)});
    }
    if (!constant.is_parameter && constant.numbers.size() <= kMaxOnHost) held.host = constant.numbers;
    constants_.push_back(std::move(held));
  }
  graph_ = std::make_shared<const Subgraph>(std::move(compiled.graph));
  find(members_);
}

Model::Model(const Model& other)
    : ParameterTree(other),
      graph_{other.graph_},
      inputs_{other.inputs_},
      outputs_{other.outputs_},
      metadata_{other.metadata_},
      source_{other.source_},
      members_{other.members_},
      constants_{other.constants_} {
  find(members_);
}

Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

void Model::check_input(size_t i, const Variable& x) const {
  const Argument& input = inputs_[i];
  if (!x.is_defined()) return;
  const std::string what = source_ + ": the input '" + input.name + "' has ";
  // A model that was converted takes what it computes with.
  const bool both_floating = input.dtype && kusari::is_floating(*input.dtype) && kusari::is_floating(x.dtype());
  if (input.dtype && x.dtype() != *input.dtype && !both_floating) {
    throw TypeError(what + "dtype " + kusari::to_string(x.dtype()) + ": it must be " + kusari::to_string(*input.dtype));
  }
  if (!input.shape) return;
  bool fits = x.ndim() == static_cast<int>(input.shape->size());
  for (size_t axis = 0; fits && axis < input.shape->size(); ++axis) {
    const int64_t size = (*input.shape)[axis];
    fits = size < 0 || x.shape()[static_cast<int>(axis)] == size;
  }
  if (!fits) throw TypeError(what + "shape " + kusari::to_string(x.shape()) + ": it must be " + shape_text(input));
}

Variables Model::call(std::span<const Variable> xs) const {
  if (xs.size() != inputs_.size()) {
    throw ValueError(source_ + " has " + std::to_string(inputs_.size()) + " inputs, " + std::to_string(xs.size()) +
                     " were given");
  }
  const LinkCall hooked(*this);
  Values given;
  for (size_t i = 0; i < xs.size(); ++i) {
    check_input(i, xs[i]);
    given.push_back(xs[i]);
  }
  Values captured;
  captured.reserve(constants_.size());
  for (const Held& held : constants_) {
    Value value;
    value.host = held.host;
    if (held.member >= 0) {
      const Member& member = members_[static_cast<size_t>(held.member)];
      value.variable = member.parameter != nullptr ? Variable(*member.parameter) : Variable(*member.array, false);
    }
    captured.push_back(std::move(value));
  }
  Variables results;
  for (const Value& value : graph_->run(given, captured, device())) {
    if (value.sequence != nullptr) {
      throw TypeError(source_ + ": the output '" + outputs_[results.size()].name +
                      "' is a list (a sequence): outputs must be arrays");
    }
    const bool only_on_host = value.is_on_host() && !value.variable.is_defined();
    results.push_back(only_on_host ? Call(Values{value}, device(), false)[0] : value.variable);
  }
  return results;
}

Variable Model::operator()(const Variable& x) const {
  if (inputs_.size() != 1 || outputs_.size() != 1) {
    throw ValueError(source_ + " has " + std::to_string(inputs_.size()) + " inputs and " +
                     std::to_string(outputs_.size()) + " outputs: call() takes and gives several");
  }
  return call({x})[0];
}

std::vector<std::string> Model::operations() const {
  std::vector<std::string> result;
  for (const Subgraph::Step& step : graph_->steps) result.push_back(step.place);
  return result;
}

}  // namespace kusari::onnx
