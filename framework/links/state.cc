#include "kusari/framework/links/state.h"

#include <string>
#include <utility>

#include "kusari/framework/links/link_walk.h"

namespace kusari {

State::State(const State& other)
    : Variable(detail::CopyScope::current() == CopyMode::copy ? static_cast<const Variable&>(other) : Variable()) {}

std::vector<std::pair<std::string, Variable*>> states(Link& model) {
  std::vector<std::pair<std::string, Variable*>> found;
  detail::LinkWalk::links(model, "", [&](const std::string& path, Link& link) {
    detail::LinkWalk::members(link, [&](const detail::LinkMember& member) {
      if (member.kind != detail::MemberKind::state) return;
      found.emplace_back(path + "/" + member.name, static_cast<Variable*>(detail::LinkWalk::at(link, member)));
    });
  });
  return found;
}

void unchain_states(Link& model) {
  detail::LinkWalk::states(model, [](Variable& state) {
    if (state.is_defined() && (state.creator() != nullptr || state.requires_grad())) {
      state = Variable(state.array(), false);
    }
  });
}

void reset_states(Link& model) {
  detail::LinkWalk::states(model, [](Variable& state) { state = Variable(); });
}

}  // namespace kusari
