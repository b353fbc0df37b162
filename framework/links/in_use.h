#pragma once

#include <atomic>
#include <cstdint>

#include "kusari/framework/core/export.h"

namespace kusari::detail {

/// Which thread is in a call that changes the object this is a member of. A copy of the object is in no call.
class KUSARI_API InUse {
 public:
  InUse() noexcept = default;
  InUse(const InUse&) noexcept {}
  InUse& operator=(const InUse&) noexcept { return *this; }

  /// Begins a call; a thread may begin one within another. Throws StateError while another thread is in one: "<object>
  /// is being called by another thread: ...".
  void enter(const char* object);
  void leave() noexcept {
    if (--depth_ == 0) user_.store(0, std::memory_order_release);
  }

 private:
  std::atomic<uint64_t> user_{0};  // its this_thread(); 0: nobody
  int depth_ = 0;                  // the user's
};

/// A call, for the life of the object.
class ScopedUse {
 public:
  ScopedUse(InUse& object, const char* name) : object_{object} { object.enter(name); }
  ScopedUse(const ScopedUse&) = delete;
  ScopedUse& operator=(const ScopedUse&) = delete;
  ~ScopedUse() { object_.leave(); }

 private:
  InUse& object_;
};

}  // namespace kusari::detail
