#pragma once

#include <atomic>
#include <cstdint>

namespace kusari::iterators {

/// Sleeps while a word in memory that processes share is `expected`, at most so many seconds. May return early.
void futex_wait(std::atomic<uint32_t>& word, uint32_t expected, double seconds) noexcept;
/// Wakes up to `count` of those that sleep on the word, in any process.
void futex_wake(std::atomic<uint32_t>& word, int count) noexcept;

}  // namespace kusari::iterators
