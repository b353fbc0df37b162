#pragma once

#include <initializer_list>
#include <span>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::distributed::functions {

/// The actual variables, unchanged, connected with a delegate variable: who goes backward from any of them reaches what
/// the delegate stands for as well, such as a send, once the gradients of the actual ones have been handed on.
/// delegate_variable: what send and its like return, or any other variable; its gradient is zeros. When it is
/// undefined, nothing is connected. actual_variables: any shapes and dtypes, given. Returns variables of the same.
/// Throws TypeError for one that is not given. Differentiable to any order. chainermn.functions.pseudo_connect.
KUSARI_API Variables pseudo_connect(const Variable& delegate_variable, std::span<const Variable> actual_variables);
inline Variables pseudo_connect(const Variable& delegate_variable, std::initializer_list<Variable> actual_variables) {
  return pseudo_connect(delegate_variable,
                        std::span<const Variable>(actual_variables.begin(), actual_variables.size()));
}
/// The same for a single one.
KUSARI_API Variable pseudo_connect(const Variable& delegate_variable, const Variable& actual_variable);

}  // namespace kusari::distributed::functions
