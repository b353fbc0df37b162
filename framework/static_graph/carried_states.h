#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/links/link.h"

namespace kusari::graphs {

/// The State members of a model, which are inputs and results of its calls beside those that the program sees.
class CarriedStates {
 public:
  /// Where they are, as long as no model changes. `model`: null for none.
  std::span<Variable* const> of(Link* model);

 private:
  Link* model_ = nullptr;
  uint64_t version_ = 0;
  std::vector<Variable*> states_;
};

/// The inputs of a call, and after them what the states hold.
Variables with_states(std::span<const Variable> inputs, std::span<Variable* const> states);

/// Puts what is given into the states, and back what they held when the call fails.
class ScopedStates {
 public:
  ScopedStates(std::span<Variable* const> states, std::span<const Variable> given);
  ScopedStates(const ScopedStates&) = delete;
  ScopedStates& operator=(const ScopedStates&) = delete;
  ~ScopedStates();
  /// The call has succeeded.
  void keep() noexcept { before_.clear(); }

 private:
  std::span<Variable* const> states_;
  std::vector<Variable> before_;
};

}  // namespace kusari::graphs
