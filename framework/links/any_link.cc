#include "kusari/framework/links/any_link.h"

#include "kusari/framework/core/error.h"

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

Variable AnyLink::call(std::span<const Variable> inputs) {
  if (!held_) throw StateError("AnyLink: it holds no link");
  return held_->call(inputs);
}

}  // namespace kusari
