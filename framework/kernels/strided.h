#pragma once

#include <cstdint>
#include <span>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

namespace kusari {

/// Most operands of one loop, results included.
inline constexpr int kMaxOperands = 16;

/// A loop nest over the elements of one shape and several operands: axes of size 1 are gone, axes that are one range in
/// every operand are merged, and the innermost axis is the one along which operand 0 is closest together. There is
/// always an inner axis ("row"), and no element at all if size is 0.
class KUSARI_API StridedLoop {
 public:
  /// Operand 0 has the loop's shape; the others are broadcast to it.
  explicit StridedLoop(std::span<const Array* const> operands);

  int operands() const noexcept { return operands_; }
  /// Axes that are left, the inner one included.
  int ndim() const noexcept { return ndim_; }
  int64_t rows() const noexcept { return rows_; }
  int64_t row_size() const noexcept { return size_[ndim_ - 1]; }
  /// Bytes from one element of a row to the next.
  int64_t row_stride(int operand) const noexcept { return stride_[operand][ndim_ - 1]; }
  /// Bytes from one row to the next, for a loop of two axes.
  int64_t outer_stride(int operand) const noexcept { return stride_[operand][0]; }
  int64_t size(int axis) const noexcept { return size_[axis]; }
  /// Bytes from one element to the next along an axis.
  int64_t stride(int operand, int axis) const noexcept { return stride_[operand][axis]; }
  char* base(int operand) const noexcept { return base_[operand]; }

  /// The first elements of consecutive rows.
  class KUSARI_API Cursor {
   public:
    Cursor(const StridedLoop& loop, int64_t row);
    char* operator[](int operand) const noexcept { return at_[operand]; }
    void next() noexcept {
      for (int axis = loop_.ndim_ - 2; axis >= 0; --axis) {
        for (int k = 0; k < loop_.operands_; ++k) at_[k] += loop_.stride_[k][axis];
        if (++index_[axis] < loop_.size_[axis]) return;
        for (int k = 0; k < loop_.operands_; ++k) at_[k] -= loop_.stride_[k][axis] * loop_.size_[axis];
        index_[axis] = 0;
      }
    }

   private:
    const StridedLoop& loop_;
    char* at_[kMaxOperands];
    int64_t index_[kMaxNdim];
  };

 private:
  int ndim_ = 0;
  int operands_ = 0;
  int64_t rows_ = 1;
  int64_t size_[kMaxNdim];
  int64_t stride_[kMaxOperands][kMaxNdim];  // bytes
  char* base_[kMaxOperands];
};

}  // namespace kusari
