#pragma once

#include <atomic>
#include <cstdint>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/intrusive_ptr.h"

namespace kusari {

class Link;

/// Where a model lives now. Optimizers, updaters and extensions hold the home of a model instead of its address: it
/// follows the model when it is moved, and knows when it is gone.
class KUSARI_API Home {
 public:
  explicit Home(Link& link) noexcept : link_{&link} {}
  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;

  /// The model. Throws StateError when it was destroyed, or replaced by a move assignment.
  Link& get() const {
    if (link_ == nullptr) throw_gone();
    return *link_;
  }
  /// The model, or null when it is gone.
  Link* find() const noexcept { return link_; }

  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  friend class Link;
  [[noreturn]] static void throw_gone();

  std::atomic<uint32_t> references_{0};
  Link* link_;
};

}  // namespace kusari
