#pragma once

#include <cstdint>
#include <string>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/kernels/rows.h"

namespace kusari::cpu {

inline constexpr int64_t kNoRow = -1;

/// Indices as rows in [0, rows), or kNoRow for the ignored one: int64, C-ordered, a copy.
inline Array resolve_rows(const kernels::RowLookup& lookup, const Array& index, int64_t rows) {
  const Array result = index.astype(Dtype::int64, true).contiguous();
  int64_t* const places = result.data<int64_t>();
  for (int64_t i = 0; i < result.size(); ++i) {
    const int64_t given = places[i];
    if (lookup.has_ignored && given == lookup.ignored) {
      places[i] = kNoRow;
    } else if (given < -rows || given >= rows) {
      throw IndexError(std::string(lookup.call) + ": index " + std::to_string(given) +
                       " is out of range for an axis of size " + std::to_string(rows));
    } else if (given < 0) {
      places[i] = given + rows;
    }
  }
  return result;
}

}  // namespace kusari::cpu
