#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/dataset.h"

namespace kusari::datasets {

/// One column of some rows of a table: one array along whose first axis the rows lie, or an array for each row, which
/// may have different shapes.
class KUSARI_API Column {
 public:
  /// Throws ValueError for an array without axes or one that is undefined.
  Column(Array whole);
  /// Throws ValueError for an undefined array.
  Column(std::vector<Array> rows);

  int64_t size() const noexcept { return whole_ ? whole_->shape(0) : static_cast<int64_t>(rows_.size()); }
  /// Row i, 0 <= i < size(). Throws IndexError for another i.
  Array operator[](int64_t i) const;
  /// The rows at these indices, each 0 <= i < size(): an array of its own where the column is one.
  Column take(std::span<const int64_t> indices) const;
  /// One array, (size, ...). Throws TypeError where shapes or dtypes of rows differ, ValueError for no rows.
  Array stacked() const;
  /// Whether it is one array.
  bool is_whole() const noexcept { return whole_.has_value(); }

 private:
  std::optional<Array> whole_;
  std::vector<Array> rows_;
};
using Columns = std::vector<Column>;

}  // namespace kusari::datasets
