#pragma once

#include "kusari/framework/core/kernel.h"

// Rows of a matrix picked by integer indices: embeddings, selection, indexing with arrays.
namespace kusari::kernels {

/// How a list of indices is read. Negative indices count from the end.
struct RowLookup {
  const char* call;  ///< the function that an error names
  bool has_ignored = false;
  int64_t ignored = 0;  ///< the index that stands for no row
};

/// y[i] = x[index[i]], zeros for the ignored index. x: (rows, n), y: (indices, n), C-ordered and of one dtype; index:
/// (indices), int32 or int64. On the CPU an index out of range throws IndexError; elsewhere it gives zeros.
struct TakeRows {
  static constexpr const char* kName = "take_rows";
  using Signature = void(Params<RowLookup> lookup, In x, In index, Out y);
};

/// y[index[i]] += x[i] for i in order, nothing for the ignored index. y: (rows, n), x: (indices, n), C-ordered; y has
/// x's dtype, or float32 beside a half type.
struct AddRows {
  static constexpr const char* kName = "add_rows";
  using Signature = void(Params<RowLookup> lookup, In x, In index, InOut y);
};

/// last[index[i]] = max(last[index[i]], i + 1), nothing for the ignored index: over zeros, one more than the last place
/// at which a row is named, 0 where it is not. last: (rows), C-ordered int64; index: (indices), int32 or int64. On the
/// CPU an index out of range throws IndexError; elsewhere it counts for nothing.
struct LastPlaces {
  static constexpr const char* kName = "last_places";
  using Signature = void(Params<RowLookup> lookup, In index, InOut last);
};

}  // namespace kusari::kernels
