#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>

namespace kusari::cuda::emulated {

/// A stack with a flow of control of its own, or (made without arguments) that of whoever switches away from it first.
class Fiber {
 public:
  Fiber() = default;
  /// The first switch to it calls entry(argument), which must not return.
  Fiber(void (*entry)(void*), void* argument);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber();

  /// Leaves this fiber, which runs, for another; returns when somebody switches back.
  void switch_to(Fiber& to);
  /// Forgets what it was doing: the next switch to it begins anew. What lies on its stack is not destroyed.
  void reset();

 private:
  struct Jump {
    Fiber* from;
    Fiber* to;
  };
  static void begin(boost::context::detail::transfer_t transfer);
  void arrive(const Jump& jump, boost::context::detail::fcontext_t from);

  boost::context::detail::fcontext_t context_ = nullptr;
  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;
  void* mapping_ = nullptr;
  // What AddressSanitizer wants to know.
  [[maybe_unused]] void* fake_stack_ = nullptr;
  const void* stack_ = nullptr;
  size_t stack_bytes_ = 0;
};

}  // namespace kusari::cuda::emulated
