#include "kusari/framework/links/first_call.h"

#include <pthread.h>

#include "kusari/framework/core/fork_safe.h"

namespace kusari::detail {
namespace {

constinit ForkSafeMutex first_calls;
constinit std::atomic<pthread_t> first_caller{0};
int first_call_depth = 0;  // its holder's

}  // namespace

FirstCall::FirstCall() {
  const pthread_t self = pthread_self();
  if (first_caller.load(std::memory_order_relaxed) != self) {
    first_calls.lock();
    first_caller.store(self, std::memory_order_relaxed);
  }
  ++first_call_depth;
}

FirstCall::~FirstCall() {
  if (--first_call_depth > 0) return;
  first_caller.store(0, std::memory_order_relaxed);
  first_calls.unlock();
}

}  // namespace kusari::detail
