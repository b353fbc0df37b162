#pragma once

#include <atomic>

#include "kusari/framework/core/export.h"

namespace kusari::detail {

/// While it lives, this thread alone makes what the first call of a link decides (the numbers of a parameter whose
/// shape comes from the batch), in this and every other model. May be nested.
class KUSARI_API FirstCall {
 public:
  FirstCall();
  FirstCall(const FirstCall&) = delete;
  FirstCall& operator=(const FirstCall&) = delete;
  ~FirstCall();
};

/// Whether a part of a link is made, for all threads to ask: who sees it set sees the part. A copy of the link asks
/// anew.
class MadeFlag {
 public:
  MadeFlag() noexcept = default;
  MadeFlag(const MadeFlag&) noexcept {}
  MadeFlag& operator=(const MadeFlag&) noexcept {
    made_.store(false, std::memory_order_relaxed);
    return *this;
  }
  bool is_set() const noexcept { return made_.load(std::memory_order_acquire); }
  void set() noexcept { made_.store(true, std::memory_order_release); }

 private:
  std::atomic<bool> made_{false};
};

}  // namespace kusari::detail
