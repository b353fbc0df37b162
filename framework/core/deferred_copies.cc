#include "kusari/framework/core/deferred_copies.h"

#include <algorithm>
#include <utility>

#include "kusari/framework/core/backend.h"

namespace kusari {
namespace {

constinit thread_local DeferredCopies* innermost __attribute__((tls_model("initial-exec"))) = nullptr;

}  // namespace

DeferredCopies::DeferredCopies() noexcept : outer_{std::exchange(innermost, this)} {}

DeferredCopies::~DeferredCopies() {
  leave();
  for (const Copies& c : copies_) {
    if (c.mark != nullptr) c.device.backend().forget_copies(c.device.index(), c.mark);
  }
}

DeferredCopies* DeferredCopies::current() noexcept { return innermost; }

void DeferredCopies::copy(const Device& device, void* data, const void* host, size_t bytes) {
  device.backend().begin_copy_beside(device.index(), data, host, bytes);
  const bool known = std::any_of(copies_.begin(), copies_.end(), [&](const Copies& c) { return c.device == device; });
  if (!known) copies_.push_back({device, nullptr});
}

// The scopes of a prefetcher's batches end in the order in which they began.
void DeferredCopies::leave() noexcept {
  if (!std::exchange(is_open_, false)) return;
  DeferredCopies** at = &innermost;
  while (*at != this) at = &(*at)->outer_;
  *at = outer_;
}

void DeferredCopies::close() {
  if (!is_open_) return;
  leave();
  for (Copies& c : copies_) c.mark = c.device.backend().record_copies(c.device.index());
}

void DeferredCopies::join() {
  close();
  while (!copies_.empty()) {  // one by one: what a failed wait leaves is the destructor's
    const Copies& c = copies_.back();
    if (c.mark != nullptr) {
      c.device.backend().wait_for_copies(c.device.index(), c.mark);
      c.device.backend().forget_copies(c.device.index(), c.mark);
    }
    copies_.pop_back();
  }
}

}  // namespace kusari
