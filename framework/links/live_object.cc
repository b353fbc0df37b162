#include "kusari/framework/links/live_object.h"

#include <mutex>

#include "kusari/framework/core/fork_safe.h"

namespace kusari::detail {

/// Never destroyed, as models may outlive statics.
template <class T>
struct LiveObjects {
  ForkSafeMutex mutex;
  LiveObject<T>* first = nullptr;

  void add(LiveObject<T>& live) noexcept {
    const std::scoped_lock lock(mutex);
    live.next_ = first;
    if (first != nullptr) first->previous_ = &live;
    first = &live;
  }
  void remove(LiveObject<T>& live) noexcept {
    const std::scoped_lock lock(mutex);
    (live.previous_ != nullptr ? live.previous_->next_ : first) = live.next_;
    if (live.next_ != nullptr) live.next_->previous_ = live.previous_;
  }
  void for_each(void (*visit)(void*, T&), void* context) {
    const std::scoped_lock lock(mutex);
    for (LiveObject<T>* live = first; live != nullptr; live = live->next_) visit(context, live->object_);
  }
};

namespace {
template <class T>
constinit Lazy<LiveObjects<T>> g_live_objects;
}  // namespace

template <class T>
LiveObject<T>::LiveObject(T& object) noexcept : object_{object} {
  g_live_objects<T>->add(*this);
}
template <class T>
LiveObject<T>::~LiveObject() {
  g_live_objects<T>->remove(*this);
}
template <class T>
void LiveObject<T>::for_each(void (*visit)(void*, T&), void* context) {
  g_live_objects<T>->for_each(visit, context);
}

template class LiveObject<Link>;
template class LiveObject<Parameter>;

}  // namespace kusari::detail
