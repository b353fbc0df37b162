#include "kusari/framework/links/in_use.h"

#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/thread_owned.h"

namespace kusari::detail {

void InUse::enter(const char* object) {
  const uint64_t self = this_thread();
  uint64_t user = 0;
  if (!user_.compare_exchange_strong(user, self, std::memory_order_acquire, std::memory_order_relaxed) &&
      user != self) {
    throw StateError(std::string(object) +
                     " is being called by another thread: each call changes it, so that threads need a copy each");
  }
  ++depth_;
}

}  // namespace kusari::detail
