#include "kusari/framework/links/link_hooks/weight_hook.h"

#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/links/link_walk.h"

namespace kusari::link_hooks {

using detail::LinkMember;
using detail::LinkWalk;

void WeightHook::added(Link* link) {
  if (link == nullptr) throw StateError(std::string(name()) + " belongs to a link: add it with Link::add_hook");
  weight(*link);
}

Parameter& WeightHook::parameter(Link& link, const std::string& wanted) const {
  Parameter* found = nullptr;
  LinkWalk::members(link, [&](const LinkMember& member) {
    if (member.kind == detail::MemberKind::parameter && member.name == wanted) {
      found = &LinkWalk::parameter(link, member);
    }
  });
  if (found != nullptr) return *found;
  throw ValueError(std::string(name()) + ": the link " + detail::class_name(link) + " has no parameter '" + wanted +
                   "'");
}

void WeightHook::forward_preprocess(Link& link) {
  in_use_.enter(name());
  try {
    Parameter& parameter = weight(link);
    if (!parameter.is_initialized()) {
      throw StateError(std::string(name()) + ": '" + weight_name_ + "' has no shape yet when the call begins");
    }
    const Variable before = parameter;
    static_cast<Variable&>(parameter) = transformed(link, before);
    original_ = before;
  } catch (...) {
    in_use_.leave();
    throw;
  }
}

void WeightHook::forward_postprocess(Link& link) {
  static_cast<Variable&>(weight(link)) = std::exchange(original_, Variable());
  in_use_.leave();
}

}  // namespace kusari::link_hooks
