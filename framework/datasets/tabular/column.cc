#include "kusari/framework/datasets/tabular/column.h"

#include <utility>

#include "kusari/framework/core/error.h"

namespace kusari::datasets {

Column::Column(Array whole) {
  if (!whole.is_defined() || whole.ndim() == 0) {
    throw ValueError("Column: the array is " + (whole.is_defined() ? "of no axes" : std::string("undefined")) +
                     ": rows must lie along its first axis");
  }
  whole_ = std::move(whole);
}

Column::Column(std::vector<Array> rows) : rows_{std::move(rows)} {
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (!rows_[i].is_defined()) throw ValueError("Column: row " + std::to_string(i) + " is undefined");
  }
}

Array Column::operator[](int64_t i) const {
  if (i < 0 || i >= size()) {
    throw IndexError("Column: row " + std::to_string(i) + " is out of range: there are " + std::to_string(size()));
  }
  return whole_ ? whole_->at(i) : rows_[static_cast<size_t>(i)];
}

Column Column::take(std::span<const int64_t> indices) const {
  std::vector<Array> rows;
  rows.reserve(indices.size());
  for (const int64_t i : indices) rows.push_back((*this)[i]);
  if (!whole_) return Column(std::move(rows));
  if (rows.empty()) {
    Shape shape = whole_->shape();
    shape[0] = 0;
    return Column(empty(shape, whole_->dtype(), whole_->device()));
  }
  return Column(Column(std::move(rows)).stacked());
}

Array Column::stacked() const {
  if (whole_) return *whole_;
  if (rows_.empty()) throw ValueError("Column::stacked: there are no rows, so that no shape is known");
  const Array& first = rows_.front();
  Shape shape{size()};
  for (const int64_t each : first.shape()) shape.push_back(each);
  Array all = empty(shape, first.dtype(), first.device());
  for (size_t i = 0; i < rows_.size(); ++i) {
    const Array& row = rows_[i];
    if (row.shape() != first.shape() || row.dtype() != first.dtype()) {
      throw TypeError("Column::stacked: row " + std::to_string(i) + " has shape " + to_string(row.shape()) +
                      " and dtype " + name(row.dtype()) + " but row 0 has " + to_string(first.shape()) + " and " +
                      name(first.dtype()) + ": they must be equal");
    }
    all.at(static_cast<int64_t>(i)).copy_from(row);
  }
  return all;
}

}  // namespace kusari::datasets
