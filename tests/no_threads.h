#pragma once

#include <cstddef>

#include <pthread.h>

namespace kusari::testing {

/// While it lives, the system gives this process no threads: there is no room for their stacks.
class NoThreads {
 public:
  NoThreads() {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_getattr_default_np(&attributes);
    pthread_attr_getstacksize(&attributes, &stack_);
    set(size_t{1} << 47);  // more than there are addresses
    pthread_attr_destroy(&attributes);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;
  ~NoThreads() { set(stack_); }

 private:
  static void set(size_t stack) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack);
    pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
  }

  size_t stack_ = 0;
};

}  // namespace kusari::testing
