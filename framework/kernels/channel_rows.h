#pragma once

#include <cstdint>
#include <span>

#include "kusari/framework/core/array.h"
#include "kusari/framework/kernels/reduce.h"

// For normalizations whose loops want rows of contiguous channels, on any device.
namespace kusari {

/// x's axes as rows of channels: the aggregated axes first, then the others, both in their order.
class RowOrder {
 public:
  RowOrder(const Shape& shape, AxisMask axes) {
    for (const bool aggregated : {true, false}) {
      for (int axis = 0; axis < shape.ndim(); ++axis) {
        if (axes.contains(axis) != aggregated) continue;
        order_.push_back(axis);
        permuted_.push_back(shape[axis]);
        (aggregated ? rows_ : channels_) *= shape[axis];
      }
    }
  }
  int64_t rows() const noexcept { return rows_; }
  int64_t channels() const noexcept { return channels_; }
  /// Whether the elements lie in memory as rows of channels without gaps.
  bool holds_for(const Array& x) const {
    int64_t expected = 1;
    for (int i = order_.ndim() - 1; i >= 0; --i) {
      const int axis = static_cast<int>(order_[i]);
      if (x.shape()[axis] != 1 && x.strides()[axis] != expected) return false;
      expected *= x.shape()[axis];
    }
    return true;
  }
  /// The elements as rows of channels in `dtype`; undefined stays undefined.
  Array rows_of(const Array& x, Dtype dtype) const {
    if (!x.is_defined()) return x;
    if (holds_for(x)) return x.astype(dtype);
    return x.transpose(order_span()).astype(dtype).contiguous();
  }
  /// A view of such rows in the order of x's axes.
  Array restored(const Array& rows) const {
    Dims inverse = Dims::filled(order_.ndim(), 0);
    for (int i = 0; i < order_.ndim(); ++i) inverse[static_cast<int>(order_[i])] = i;
    return rows.transpose({inverse.begin(), inverse.size()});
  }
  const Shape& permuted() const noexcept { return permuted_; }

 private:
  std::span<const int64_t> order_span() const { return {order_.begin(), order_.size()}; }

  Dims order_;
  Shape permuted_;
  int64_t rows_ = 1, channels_ = 1;
};

/// A result written as rows of channels: where it belongs if that has the form, else beside it.
class RowResult {
 public:
  RowResult(const RowOrder& order, const Array& target, Dtype dtype) : order_{order}, target_{target}, rows_{target} {
    if (target.is_defined() && (target.dtype() != dtype || !order.holds_for(target))) {
      rows_ = empty(order.permuted(), dtype, target.device());
    }
  }
  char* data() const { return static_cast<char*>(rows_.raw_data()); }
  void finish() const {
    if (!rows_.is_same(target_)) target_.copy_from(order_.restored(rows_));
  }
  bool is_defined() const noexcept { return rows_.is_defined(); }

 private:
  const RowOrder& order_;
  Array target_, rows_;
};

}  // namespace kusari
