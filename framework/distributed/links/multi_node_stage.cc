#include "kusari/framework/distributed/links/multi_node_stage.h"

#include "kusari/framework/core/error.h"
#include "kusari/framework/links/link_walk.h"

namespace kusari::distributed {

detail::StageLink::~StageLink() = default;

MultiNodeStage::MultiNodeStage(const MultiNodeStage& other)
    : Link(other), held_{other.held_ ? other.held_->clone() : nullptr}, options_{other.options_} {}

MultiNodeStage& MultiNodeStage::operator=(const MultiNodeStage& other) {
  if (this == &other) return *this;
  Link::operator=(other);
  options_ = other.options_;
  if (held_ && other.held_ && held_->assign(*other.held_)) return *this;
  held_ = other.held_ ? other.held_->clone() : nullptr;
  structure_changed();
  return *this;
}

size_t MultiNodeStage::object_size() const noexcept {
  return held_ ? kusari::detail::LinkWalk::object_size(held_->link(), held_->size()) : 0;
}

Variables MultiNodeStage::call(std::span<const Variable> inputs) const {
  if (!held_) throw StateError("MultiNodeChainList: a link was moved away");
  return held_->call(inputs);
}

}  // namespace kusari::distributed
