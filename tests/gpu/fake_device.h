#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/cuda/runtime/allocator.h"
#include "kusari/cuda/runtime/pinned_pool.h"

namespace kusari::testing {

inline constexpr size_t kKiB = size_t{1} << 10, kMiB = size_t{1} << 20, kGiB = size_t{1} << 30;

/// Streams are only addresses.
inline int fake_streams[3];
inline void *const kStreamA = &fake_streams[0], *const kStreamB = &fake_streams[1], *const kStreamC = &fake_streams[2];

/// A device whose streams advance when the test says so: complete(stream) ends all work given to it so far.
class FakeEvents : public cuda::SegmentSource {
 public:
  void* record(void* stream) noexcept override {
    ++alive;
    return new Event{stream, ++recorded_[stream]};
  }
  bool is_done(void* event) noexcept override {
    ++queries;
    const auto* e = static_cast<Event*>(event);
    return completed_[e->stream] >= e->number;
  }
  void wait(void* event) noexcept override {
    const auto* e = static_cast<Event*>(event);
    if (completed_[e->stream] < e->number) completed_[e->stream] = e->number;
    ++waits;
  }
  void recycle(void* event) noexcept override {
    --alive;
    delete static_cast<Event*>(event);
  }
  void complete(void* stream) { completed_[stream] = recorded_[stream]; }

  int alive = 0;  // events not given back
  int waits = 0;
  int queries = 0;

 private:
  struct Event {
    void* stream;
    int64_t number;
  };
  std::map<void*, int64_t> recorded_, completed_;
};

/// Memory that is only addresses.
class FakeDevice final : public FakeEvents {
 public:
  explicit FakeDevice(size_t total) : total_{total} {}

  void* allocate_segment(size_t bytes) override {
    ++asked;
    if (held + bytes > total_) return nullptr;
    held += bytes;
    char* const data = next_;
    next_ += (bytes + kGap - 1) / kGap * kGap + kGap;  // segments never touch
    segments[data] = bytes;
    return data;
  }
  void free_segment(void* data, size_t bytes) noexcept override {
    const auto at = segments.find(static_cast<char*>(data));
    REQUIRE(at != segments.end());
    CHECK(at->second == bytes);
    segments.erase(at);
    held -= bytes;
  }
  MemoryInfo memory_info() noexcept override { return {total_ - held, total_}; }

  size_t held = 0;
  int asked = 0;
  std::map<char*, size_t> segments;

 private:
  static constexpr size_t kGap = size_t{2} << 20;
  const size_t total_;
  char* next_ = reinterpret_cast<char*>(uintptr_t{1} << 40);
};

class FakeHost final : public cuda::HostSource {
 public:
  void* allocate_host(size_t bytes) override {
    if (held + bytes > limit) return nullptr;
    held += bytes;
    void* const data = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    blocks_[data] = bytes;
    return data;
  }
  void free_host(void* data) noexcept override {
    held -= blocks_.at(data);
    blocks_.erase(data);
    std::free(data);
  }
  ~FakeHost() override {
    for (const auto& [data, bytes] : blocks_) std::free(data);
  }

  size_t limit = size_t{1} << 30;
  size_t held = 0;

 private:
  std::map<void*, size_t> blocks_;
};

}  // namespace kusari::testing
