#include "kusari/framework/links/live_link.h"

#include <mutex>

#include "kusari/framework/core/fork_safe.h"

namespace kusari::detail {

/// Never destroyed, as models may outlive statics.
struct LiveLinks {
  ForkSafeMutex mutex;
  LiveLink* first = nullptr;

  void add(LiveLink& link) noexcept {
    const std::scoped_lock lock(mutex);
    link.next_ = first;
    if (first != nullptr) first->previous_ = &link;
    first = &link;
  }
  void remove(LiveLink& link) noexcept {
    const std::scoped_lock lock(mutex);
    (link.previous_ != nullptr ? link.previous_->next_ : first) = link.next_;
    if (link.next_ != nullptr) link.next_->previous_ = link.previous_;
  }
  void for_each(void (*visit)(void*, Link&), void* context) {
    const std::scoped_lock lock(mutex);
    for (LiveLink* link = first; link != nullptr; link = link->next_) visit(context, link->link_);
  }
};

namespace {
constinit Lazy<LiveLinks> g_live_links;
}  // namespace

LiveLink::LiveLink(Link& link) noexcept : link_{link} { g_live_links->add(*this); }
LiveLink::~LiveLink() { g_live_links->remove(*this); }
void LiveLink::for_each(void (*visit)(void*, Link&), void* context) { g_live_links->for_each(visit, context); }

}  // namespace kusari::detail
