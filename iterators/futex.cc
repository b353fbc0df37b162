#include "kusari/iterators/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace kusari::iterators {

void futex_wait(std::atomic<uint32_t>& word, uint32_t expected, double seconds) noexcept {
  static_assert(sizeof word == sizeof(uint32_t) && std::atomic<uint32_t>::is_always_lock_free);
  const auto whole = static_cast<time_t>(seconds);
  const timespec limit{whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
  syscall(SYS_futex, &word, FUTEX_WAIT, expected, &limit, nullptr, 0);
}

void futex_wake(std::atomic<uint32_t>& word, int count) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE, count, nullptr, nullptr, 0);
}

}  // namespace kusari::iterators
