#include "kusari/framework/kernels/strided.h"

#include <cstdlib>
#include <utility>

namespace kusari {

StridedLoop::StridedLoop(std::span<const Array* const> operands) : operands_{static_cast<int>(operands.size())} {
  const Shape& shape = operands[0]->shape();
  // Every axis longer than 1, then sorted by operand 0's strides (insertion sort: there are few axes).
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    if (shape[axis] == 1) continue;
    size_[ndim_] = shape[axis];
    for (int k = 0; k < operands_; ++k) {
      const Array& x = *operands[static_cast<size_t>(k)];
      const int own = axis - (shape.ndim() - x.ndim());
      stride_[k][ndim_] = own < 0 || x.shape()[own] == 1 ? 0 : x.strides()[own] * itemsize(x.dtype());
    }
    ++ndim_;
  }
  for (int k = 0; k < operands_; ++k) base_[k] = operands[static_cast<size_t>(k)]->data<char>();
  for (int i = 1; i < ndim_; ++i) {
    for (int j = i; j > 0 && std::abs(stride_[0][j - 1]) < std::abs(stride_[0][j]); --j) {
      std::swap(size_[j - 1], size_[j]);
      for (int k = 0; k < operands_; ++k) std::swap(stride_[k][j - 1], stride_[k][j]);
    }
  }
  int merged = 0;
  for (int axis = 1; axis < ndim_; ++axis) {
    bool one_range = true;
    for (int k = 0; k < operands_; ++k) one_range = one_range && stride_[k][merged] == stride_[k][axis] * size_[axis];
    if (one_range) {
      size_[merged] *= size_[axis];
    } else {
      size_[++merged] = size_[axis];
    }
    for (int k = 0; k < operands_; ++k) stride_[k][merged] = stride_[k][axis];
  }
  if (ndim_ == 0) {
    size_[0] = 1;
    for (int k = 0; k < operands_; ++k) stride_[k][0] = itemsize(operands[static_cast<size_t>(k)]->dtype());
  }
  ndim_ = merged + 1;
  for (int axis = 0; axis + 1 < ndim_; ++axis) rows_ *= size_[axis];
}

StridedLoop::Cursor::Cursor(const StridedLoop& loop, int64_t row) : loop_{loop} {
  for (int k = 0; k < loop.operands_; ++k) at_[k] = loop.base_[k];
  for (int axis = loop.ndim_ - 2; axis >= 0; --axis) {
    index_[axis] = row % loop.size_[axis];
    row /= loop.size_[axis];
    for (int k = 0; k < loop.operands_; ++k) at_[k] += index_[axis] * loop.stride_[k][axis];
  }
}

}  // namespace kusari
