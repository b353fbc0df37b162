#include "kusari/framework/core/thread_owned.h"

#include <cxxabi.h>
#include <unistd.h>

extern "C" __attribute__((visibility("hidden"))) void* __dso_handle;

namespace kusari::detail {

void at_thread_exit(void (*destroy)(void* object), void* object) {
  if (gettid() == getpid()) return;
  abi::__cxa_thread_atexit(destroy, object, &__dso_handle);
}

}  // namespace kusari::detail
