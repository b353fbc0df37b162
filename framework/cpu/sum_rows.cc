#include "kusari/framework/kernels/sum_rows.h"

#include <algorithm>
#include <cstring>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/pointwise.h"
#include "kusari/framework/cpu/register.h"
#include "kusari/framework/kernels/arithmetic.h"

namespace kusari::cpu {
namespace {

/// The sum of one block of columns.
class RowTree {
 public:
  RowTree(const Array& rows, const double* weights)
      : compute_{compute_of(rows.dtype())},
        rows_{static_cast<const char*>(rows.raw_data())},
        stride_{rows.strides()[0] * itemsize(rows.dtype())},
        weights_{weights},
        reader_{rows.dtype(), itemsize(rows.dtype()), compute_},
        add_{loop_of(pointwise_loops<kernels::Add>, compute_)},
        scale_{loop_of(pointwise_loops<kernels::MulConst>, compute_)} {}

  /// Of the rows first .. first + count - 1, at `offset` bytes in each; lies in a row or in the buffers.
  const void* sum(int64_t first, int64_t count, int64_t offset, int64_t n, int level = 0) {
    char* const buffer = buffers_ + level * kBlockBytes;
    if (count == 1 && weights_ != nullptr && weights_[first] == 0) {
      std::memset(buffer, 0, kBlockBytes);
      return buffer;
    }
    if (count == 1) {
      const void* const values = reader_.read(rows_ + first * stride_ + offset, n, buffer);
      return weights_ != nullptr ? scaled(values, weights_[first], n, buffer) : values;
    }
    const int64_t half = kernels::first_half(count);
    const void* const parts[] = {sum(first, half, offset, n, level),
                                 sum(first + half, count - half, offset, n, level + 1)};
    add_(&kAdd, parts, buffer, n);
    return buffer;
  }
  const void* scaled(const void* values, double factor, int64_t n, void* buffer) const {
    const kernels::MulConst by{factor};
    scale_(&by, &values, buffer, n);
    return buffer;
  }
  void* first_buffer() noexcept { return buffers_; }
  Compute compute() const noexcept { return compute_; }

 private:
  static constexpr kernels::Add kAdd{};
  static constexpr int kLevels = 12;  // of 1024 rows, and one more

  Compute compute_;
  const char* rows_;
  int64_t stride_;
  const double* weights_;
  BlockReader reader_;
  PointwiseLoop add_, scale_;
  alignas(64) char buffers_[kLevels * kBlockBytes];
};

void sum_rows(In rows, In weights, Params<double> scale, Out y) {
  const int64_t size = itemsize(y->dtype());
  char* const out = static_cast<char*>(y->raw_data());
  const double* const factors = weights ? weights->data<double>() : nullptr;
  parallel_for(y->size(), kThreadChunk, [&](int64_t begin, int64_t end) {
    RowTree tree(*rows, factors);
    const BlockWriter writer(y->dtype(), size, tree.compute());
    for (int64_t at = begin; at < end; at += kBlock) {
      const int64_t n = std::min(kBlock, end - at);
      const void* values = tree.sum(0, rows->shape(0), at * size, n);
      if (*scale != 1) values = tree.scaled(values, *scale, n, tree.first_buffer());
      writer.write(values, n, out + at * size);
    }
  });
}

}  // namespace

void register_sum_rows(Backend& backend) { backend.add<kernels::SumRows>(sum_rows); }

}  // namespace kusari::cpu
