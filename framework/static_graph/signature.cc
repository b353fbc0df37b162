#include "kusari/framework/static_graph/signature.h"

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/config.h"

namespace kusari::graphs {

Surroundings Surroundings::now() noexcept {
  const InputCaster* const caster = kusari::detail::t_input_caster;
  return {kusari::config().signature(), caster != nullptr ? caster->signature() : 0};
}

Signature::Signature(std::span<const Variable> inputs, const Surroundings& surroundings)
    : surroundings_{surroundings}, train_{config().train}, enable_backprop_{config().enable_backprop} {
  inputs_.reserve(inputs.size());
  for (const Variable& input : inputs) {
    if (!input.is_defined()) {
      inputs_.emplace_back();
      continue;
    }
    const Array& array = input.array();
    inputs_.push_back({.is_defined = true,
                       .requires_grad = input.requires_grad(),
                       .dtype = array.dtype(),
                       .device = array.device(),
                       .shape = array.shape(),
                       .strides = array.strides()});
  }
}

bool Signature::matches(std::span<const Variable> inputs, const Surroundings& surroundings) const noexcept {
  if (inputs.size() != inputs_.size() || !(surroundings == surroundings_)) return false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Input& known = inputs_[i];
    if (inputs[i].is_defined() != known.is_defined) return false;
    if (!known.is_defined) continue;
    const Array& array = inputs[i].array();
    if (array.dtype() != known.dtype || inputs[i].requires_grad() != known.requires_grad ||
        array.shape() != known.shape || array.strides() != known.strides || array.device() != known.device) {
      return false;
    }
  }
  return true;
}

std::string Signature::text() const {
  std::string result;
  for (const Input& input : inputs_) {
    result += result.empty() ? "" : ", ";
    result += input.is_defined ? std::string(name(input.dtype)) + ' ' + to_string(input.shape) : "none";
  }
  return result;
}

}  // namespace kusari::graphs
