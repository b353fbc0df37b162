#include "fiber.h"

#include <sys/mman.h>

#include <new>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace kusari::cuda::emulated {
namespace {

constexpr size_t kStackBytes = 256 << 10;
constexpr size_t kGuardBytes = 4096;

/// Where the next stack begins, in bytes below its top: stacks that all began at one place of a page would share few
/// sets of the cache, and a warp's fibers take turns all the time.
size_t next_skew() {
  static size_t count = 0;
  return count++ * 576 % 16384;
}

}  // namespace

Fiber::Fiber(void (*entry)(void*), void* argument) : entry_{entry}, argument_{argument} {
  mapping_ = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (mapping_ == MAP_FAILED) throw std::bad_alloc();
  mprotect(mapping_, kGuardBytes, PROT_NONE);
  stack_ = static_cast<char*>(mapping_) + kGuardBytes;
  stack_bytes_ = kStackBytes - next_skew();
  reset();
}

Fiber::~Fiber() {
  if (mapping_ != nullptr) munmap(mapping_, kGuardBytes + kStackBytes);
}

void Fiber::reset() {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(stack_, stack_bytes_);
  fake_stack_ = nullptr;
#endif
  context_ = boost::context::detail::make_fcontext(static_cast<char*>(mapping_) + kGuardBytes + stack_bytes_,
                                                   stack_bytes_, begin);
}

void Fiber::switch_to(Fiber& to) {
  const Jump jump{this, &to};
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&fake_stack_, to.stack_, to.stack_bytes_);
#endif
  const auto back = boost::context::detail::jump_fcontext(to.context_, const_cast<Jump*>(&jump));
  arrive(*static_cast<const Jump*>(back.data), back.fctx);
}

void Fiber::begin(boost::context::detail::transfer_t transfer) {
  const Jump jump = *static_cast<const Jump*>(transfer.data);
  Fiber& me = *jump.to;
  me.arrive(jump, transfer.fctx);
  me.entry_(me.argument_);
}

void Fiber::arrive(const Jump& jump, boost::context::detail::fcontext_t from) {
  Fiber& origin = *jump.from;
  origin.context_ = from;
#if defined(__SANITIZE_ADDRESS__)
  const void* stack = nullptr;
  size_t bytes = 0;
  __sanitizer_finish_switch_fiber(fake_stack_, &stack, &bytes);
  if (origin.mapping_ == nullptr) {
    origin.stack_ = stack;
    origin.stack_bytes_ = bytes;
  }
#endif
}

}  // namespace kusari::cuda::emulated
