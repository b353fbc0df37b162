#include "kusari/framework/serializers/crc32.h"

#include <algorithm>

#include <zlib.h>

#include "kusari/framework/core/threads.h"

namespace kusari::serializers {

uint32_t crc32_of(const void* data, size_t size, uint32_t before) noexcept {
  constexpr size_t kChunk = size_t{1} << 18, kMostChunks = 64;
  const auto* bytes = static_cast<const Bytef*>(data);
  if (size <= kChunk) return static_cast<uint32_t>(crc32_z(before, bytes, size));
  while (size > 0) {
    uLong parts[kMostChunks];
    const size_t now = std::min(size, kChunk * kMostChunks);
    parallel_for(static_cast<int64_t>(now), static_cast<int64_t>(kChunk), [&](int64_t begin, int64_t end) {
      parts[static_cast<size_t>(begin) / kChunk] = crc32_z(0, bytes + begin, static_cast<z_size_t>(end - begin));
    });
    for (size_t begin = 0; begin < now; begin += kChunk) {
      const size_t length = std::min(kChunk, now - begin);
      before = static_cast<uint32_t>(crc32_combine(before, parts[begin / kChunk], static_cast<z_off_t>(length)));
    }
    bytes += now;
    size -= now;
  }
  return before;
}

}  // namespace kusari::serializers
