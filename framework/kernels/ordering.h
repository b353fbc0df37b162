#pragma once

#include "kusari/framework/core/kernel.h"

// Order among numbers: NaN is one value, larger than all others, as in NumPy.
namespace kusari::kernels {

/// indices = the places that sort each row from the smallest, equal elements in their order. x: (rows, n), C-ordered,
/// any dtype; indices: (rows, n), int64, C-ordered.
struct ArgsortRows {
  static constexpr const char* kName = "argsort_rows";
  using Signature = void(In x, Out indices);
};

/// On which side of equal elements a number is put.
struct InsertionSide {
  bool right;
};

/// places[i] = where values[i] can be put into `sorted` without a change of order. sorted: (n), ascending, and values:
/// any shape, one dtype, C-ordered; places: values' shape, int64, C-ordered.
struct SearchSorted {
  static constexpr const char* kName = "search_sorted";
  using Signature = void(Params<InsertionSide> side, In sorted, In values, Out places);
};

/// y[index[i]] = x[i] for i in order. y: (rows, n), x: (indices, n), C-ordered and of one dtype; index: (indices),
/// int64, in range; on devices that cannot throw, -1 stands for no row.
struct PutRows {
  static constexpr const char* kName = "put_rows";
  using Signature = void(In x, In index, InOut y);
};

}  // namespace kusari::kernels
