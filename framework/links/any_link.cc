#include "kusari/framework/links/any_link.h"

#include "kusari/framework/core/error.h"
#include "kusari/framework/links/link_walk.h"

namespace kusari {

detail::AnyCallable::~AnyCallable() = default;

AnyLink::AnyLink(const AnyLink& other) : Link(other), held_{other.held_ ? other.held_->clone() : nullptr} {}

AnyLink& AnyLink::operator=(const AnyLink& other) {
  if (this == &other) return *this;
  Link::operator=(other);
  if (held_ && other.held_ && held_->assign(*other.held_)) return *this;
  held_ = other.held_ ? other.held_->clone() : nullptr;
  structure_changed();
  return *this;
}

// Of the innermost one, which stands in the tree.
size_t AnyLink::object_size() const noexcept {
  if (!held_) return 0;
  return detail::LinkWalk::object_size(*held_->link(), held_->size());
}

Variable AnyLink::call(std::span<const Variable> inputs) const {
  if (!held_) throw StateError(is_moved_from() ? "AnyLink: its link was moved away" : "AnyLink: it holds no link");
  return held_->call(inputs);
}

}  // namespace kusari
