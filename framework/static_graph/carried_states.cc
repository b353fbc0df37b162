#include "kusari/framework/static_graph/carried_states.h"

#include "kusari/framework/links/link_walk.h"

namespace kusari::graphs {

std::span<Variable* const> CarriedStates::of(Link* model) {
  const uint64_t version = kusari::detail::structure_version();
  if (model == model_ && version == version_) [[likely]]
    return states_;
  states_.clear();
  if (model != nullptr) {
    kusari::detail::LinkWalk::states(*model, [&](Variable& state) { states_.push_back(&state); });
  }
  model_ = model;
  version_ = version;
  return states_;
}

Variables with_states(std::span<const Variable> inputs, std::span<Variable* const> states) {
  Variables all;
  all.reserve(inputs.size() + states.size());
  for (const Variable& input : inputs) all.push_back(input);
  for (const Variable* const state : states) all.push_back(*state);
  return all;
}

ScopedStates::ScopedStates(std::span<Variable* const> states, std::span<const Variable> given) : states_{states} {
  for (size_t i = 0; i < states.size(); ++i) before_.push_back(std::exchange(*states[i], given[i]));
}

ScopedStates::~ScopedStates() {
  for (size_t i = 0; i < before_.size(); ++i) *states_[i] = std::move(before_[i]);
}

}  // namespace kusari::graphs
