#pragma once

#include <bit>
#include <cstddef>

// The sizes of small blocks.
namespace kusari::memory {

inline constexpr size_t kBlockAlignment = 64;
inline constexpr size_t kFineLimit = 1024;  // classes are multiples of 64 bytes up to here,
inline constexpr int kFineClasses = 16;     // then kClassSteps per doubling
inline constexpr int kClassSteps = 8;
inline constexpr int kSmallClasses = kFineClasses + 6 * kClassSteps;  // up to 64 KiB
inline constexpr size_t kSmallLimit = size_t{1} << 16;

inline int class_of(size_t bytes) {
  if (bytes <= kFineLimit) return bytes == 0 ? 0 : static_cast<int>((bytes - 1) / kBlockAlignment);
  const int log2 = std::bit_width(bytes - 1) - 1;  // 2^log2 <= bytes - 1
  const size_t step = size_t{1} << (log2 - 3);
  const int within = static_cast<int>((bytes - 1 - (size_t{1} << log2)) / step);
  return kFineClasses + (log2 - 10) * kClassSteps + within;
}

inline size_t class_bytes(int cls) {
  if (cls < kFineClasses) return static_cast<size_t>(cls + 1) * kBlockAlignment;
  const int log2 = (cls - kFineClasses) / kClassSteps + 10;
  const size_t within = static_cast<size_t>((cls - kFineClasses) % kClassSteps) + 1;
  return (size_t{1} << log2) + (within << (log2 - 3));
}

}  // namespace kusari::memory
