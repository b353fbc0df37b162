#include "kusari/framework/core/threads.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"

namespace kusari {
namespace {

struct ScopedThreads {
  int before = num_threads();
  ~ScopedThreads() { set_num_threads(before); }
};

TEST_CASE("the number of threads is a setting") {
  const ScopedThreads restore;
  CHECK(num_threads() >= 1);
  set_num_threads(3);
  CHECK(num_threads() == 3);
  CHECK_THROWS_WITH_AS(set_num_threads(0), "set_num_threads: n is 0 but must be at least 1", ValueError);
  CHECK(num_threads() == 3);
}

TEST_CASE("parallel_for visits every range once, whatever the number of threads") {
  const ScopedThreads restore;
  for (int threads : {1, 2, 4}) {
    set_num_threads(threads);
    for (int64_t n : {0, 1, 7, 8, 9, 1000}) {
      CAPTURE(threads);
      CAPTURE(n);
      std::vector<std::atomic<int>> visits(static_cast<size_t>(n) + 1);
      std::atomic<bool> ranges_hold{true};
      parallel_for(n, 8, [&](int64_t begin, int64_t end) {
        if (begin % 8 != 0 || end - begin > 8 || end <= begin || (end != n && end - begin != 8)) ranges_hold = false;
        for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
      });
      CHECK(ranges_hold);
      for (int64_t i = 0; i < n; ++i) {
        if (visits[static_cast<size_t>(i)] != 1) FAIL_CHECK("element " << i);
      }
    }
  }
}

TEST_CASE("results combined by range do not depend on the number of threads") {
  const ScopedThreads restore;
  const auto sum = [] {
    std::vector<float> parts(100);
    parallel_for(100000, 1000, [&](int64_t begin, int64_t end) {
      float part = 0;
      for (int64_t i = begin; i < end; ++i) part += 1.0f / static_cast<float>(i + 1);
      parts[static_cast<size_t>(begin / 1000)] = part;
    });
    float total = 0;
    for (float part : parts) total += part;
    return total;
  };
  set_num_threads(1);
  const float alone = sum();
  set_num_threads(4);
  CHECK(sum() == alone);
}

TEST_CASE("a thread takes the chunks of one that is held up") {
  const ScopedThreads restore;
  set_num_threads(2);
  std::atomic<int> others{0};
  parallel_for(8, 1, [&](int64_t begin, int64_t) {
    if (begin > 0) {
      ++others;
      return;
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (others < 7 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    CHECK(others == 7);
  });
}

TEST_CASE("an exception leaves parallel_for when all threads are done, and the next loop runs") {
  const ScopedThreads restore;
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    for (int64_t failing = 0; failing < 12; ++failing) {
      std::atomic<int> inside{0};
      const auto loop = [&] {
        parallel_for(12, 1, [&](int64_t begin, int64_t) {
          ++inside;
          if (begin >= failing) {
            --inside;
            throw ValueError("range " + std::to_string(begin));
          }
          std::this_thread::yield();
          --inside;
        });
      };
      CHECK_THROWS_AS(loop(), ValueError);
      CHECK(inside == 0);
      std::atomic<int64_t> count{0};
      parallel_for(100, 1, [&](int64_t begin, int64_t end) { count += end - begin; });
      CHECK(count == 100);
    }
  }
}

TEST_CASE("a parallel_for inside another runs in its thread") {
  const ScopedThreads restore;
  set_num_threads(2);
  std::atomic<int64_t> count{0};
  parallel_for(
      4, 1, [&](int64_t, int64_t) { parallel_for(10, 1, [&](int64_t begin, int64_t end) { count += end - begin; }); });
  CHECK(count == 40);
}

}  // namespace
}  // namespace kusari
