#include "kusari/framework/core/thread_owned.h"

#include <cxxabi.h>
#include <pthread.h>
#include <unistd.h>

extern "C" __attribute__((visibility("hidden"))) void* __dso_handle;

namespace kusari::detail {

uint64_t this_thread() noexcept { return pthread_self(); }

void at_thread_exit(void (*destroy)(void* object), void* object) {
  if (gettid() == getpid()) return;
  abi::__cxa_thread_atexit(destroy, object, &__dso_handle);
}

}  // namespace kusari::detail
