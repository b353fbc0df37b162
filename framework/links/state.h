#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/links/link.h"

namespace kusari {

/// A variable that a link carries from one call to the next, such as the h of a recurrent network:
/// `State h{*this, "h"}`, undefined until a call sets it, `h = new_h`, and after `h = Variable()`.
///
/// It is no parameter and in no snapshot of a model. It moves with the link and is converted with it, without its
/// graph. A copy of the link begins with the same state, a CopyMode::share or CopyMode::init copy with none. Static
/// graphs read it at each call and set it after it. A link with state is changed by each call, so that its operator()
/// is not const, and threads need a copy each.
class KUSARI_API State : public Variable {
 public:
  template <LinkType Parent>
  State(Parent& parent, std::string_view name) {
    detail::LinkAccess::add(parent, name, detail::MemberKind::state, static_cast<Variable*>(this), sizeof(Variable));
  }
  State(const State& other);
  State(State&& other) noexcept = default;
  State& operator=(const State& other) = default;
  State& operator=(State&& other) noexcept = default;
  State& operator=(const Variable& value) noexcept {
    Variable::operator=(value);
    return *this;
  }
};

/// The states of a model with their paths, "/l1/h": those of all its links, set or not.
KUSARI_API std::vector<std::pair<std::string, Variable*>> states(Link& model);
/// Forgets how the states of a model were computed, so that backward ends there: truncated backpropagation through
/// time.
KUSARI_API void unchain_states(Link& model);
/// All states become undefined: the next call begins anew.
KUSARI_API void reset_states(Link& model);

}  // namespace kusari
