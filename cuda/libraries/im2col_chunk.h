#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace kusari::cuda {

/// Rows of patches that are copied before they are multiplied: multiples of 128, or all, of `row_bytes` bytes each.
/// The workspace holds them, unless it is smaller than 128 of them.
inline int64_t rows_of_chunk(int64_t rows, int64_t row_bytes, size_t workspace) {
  constexpr int64_t kFewest = 128;
  constexpr int64_t kMost = int64_t{1} << 30;  // row numbers are of 32 bits
  const int64_t most = static_cast<int64_t>(std::min(workspace, size_t{1} << 40)) / row_bytes;
  return std::min(std::clamp(most / kFewest * kFewest, kFewest, kMost), rows);
}

}  // namespace kusari::cuda
