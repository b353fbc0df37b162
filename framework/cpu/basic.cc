#include "kusari/framework/core/basic_kernels.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/isa/transpose.h"
#include "kusari/framework/cpu/register.h"
#include "kusari/framework/kernels/strided.h"

namespace kusari::cpu {
namespace {

/// Rows per thread for rows of that many elements.
int64_t rows_per_chunk(int64_t row_size) { return std::max<int64_t>(1, kThreadChunk / std::max<int64_t>(row_size, 1)); }

/// One row of elements into another, converting. Strides in bytes.
void convert_row(ConvertLoop convert, const char* from, int64_t from_stride, int from_size, char* to, int64_t to_stride,
                 int to_size, int64_t n) {
  if (from_stride == from_size && to_stride == to_size) {
    convert(from, to, n);
    return;
  }
  alignas(64) char gathered[kBlockBytes];
  alignas(64) char converted[kBlockBytes];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t m = std::min(kBlock, n - begin);
    copy_strided(from + begin * from_stride, from_stride, gathered, from_size, m, from_size);
    convert(gathered, converted, m);
    copy_strided(converted, to_size, to + begin * to_stride, to_stride, m, to_size);
  }
}

/// Elements along each side of a square that is one thread's work at a time; of one that is converted on the way.
constexpr int64_t kTile = 128, kConvertedTile = 64;

TransposeLoop transpose_loop(int itemsize) {
  static const TransposeLoops& loops = *KUSARI_LOOPS(isa(), transpose_loops);
  return loops.loop[std::countr_zero(static_cast<unsigned>(itemsize))];
}

/// The axis along which x's elements follow each other, when y's do along another one; else -1.
int transposed_axis(const StridedLoop& plan, int from_size, int to_size) {
  const int inner = plan.ndim() - 1;
  if (plan.row_stride(0) != to_size || plan.row_stride(1) == from_size) return -1;
  for (int axis = 0; axis < inner; ++axis) {
    if (plan.stride(1, axis) == from_size) return axis;
  }
  return -1;
}

/// Copies a permutation of axes (images to channels-last and back) square by square; `convert` may be null.
void copy_transposed(const StridedLoop& plan, int axis, ConvertLoop convert, int from_size, int to_size) {
  const int inner = plan.ndim() - 1;
  const int64_t rows = plan.size(axis), columns = plan.row_size(), side = convert ? kConvertedTile : kTile;
  const int64_t high = std::min(side, rows), wide = std::min(side, columns);
  const int64_t down = (rows + high - 1) / high, across = (columns + wide - 1) / wide;
  const int64_t from_stride = plan.row_stride(1), to_stride = plan.stride(0, axis);
  const TransposeLoop transpose = transpose_loop(to_size);
  parallel_for(plan.rows() / rows * down * across, rows_per_chunk(high * wide), [&](int64_t begin, int64_t end) {
    alignas(64) char converted[kConvertedTile * kConvertedTile * 8];
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t column = unit % across * wide, row = unit / across % down * high;
      char* to = plan.base(0) + row * to_stride + column * to_size;
      const char* from = plan.base(1) + row * from_size + column * from_stride;
      int64_t rest = unit / (across * down);
      for (int other = inner - 1; rest > 0; --other) {
        if (other == axis) continue;
        const int64_t index = rest % plan.size(other);
        rest /= plan.size(other);
        to += index * plan.stride(0, other);
        from += index * plan.stride(1, other);
      }
      const int64_t m = std::min(high, rows - row), n = std::min(wide, columns - column);
      if (convert == nullptr) {
        transpose(from, from_stride, to, to_stride, m, n);
        continue;
      }
      const int64_t pitch = m * to_size;
      for (int64_t b = 0; b < n; ++b) convert(from + b * from_stride, converted + b * pitch, m);
      transpose(converted, pitch, to, to_stride, m, n);
    }
  });
}

void copy(In x, Out y) {
  if (y->size() == 0) return;
  const Array* const operands[] = {&*y, &*x};
  const StridedLoop plan(operands);
  const int from_size = static_cast<int>(itemsize(x->dtype())), to_size = static_cast<int>(itemsize(y->dtype()));
  const ConvertLoop convert = x->dtype() == y->dtype() ? nullptr : convert_loop(x->dtype(), y->dtype());
  const int64_t from_stride = plan.row_stride(1), to_stride = plan.row_stride(0);
  if (const int axis = transposed_axis(plan, from_size, to_size); axis >= 0) {
    copy_transposed(plan, axis, convert, from_size, to_size);
    return;
  }
  const auto copy_row = [&](const char* from, char* to, int64_t n) {
    if (convert == nullptr) {
      copy_strided(from, from_stride, to, to_stride, n, from_size);
    } else {
      convert_row(convert, from, from_stride, from_size, to, to_stride, to_size, n);
    }
  };
  if (plan.rows() == 1) {
    parallel_for(plan.row_size(), kThreadChunk, [&](int64_t begin, int64_t end) {
      copy_row(plan.base(1) + begin * from_stride, plan.base(0) + begin * to_stride, end - begin);
    });
    return;
  }
  parallel_for(plan.rows(), rows_per_chunk(plan.row_size()), [&](int64_t begin, int64_t end) {
    StridedLoop::Cursor at(plan, begin);
    for (int64_t row = begin; row < end; ++row, at.next()) copy_row(at[1], at[0], plan.row_size());
  });
}

template <class Word>
void fill_words(char* to, int64_t stride, int64_t n, Word value) {
  if (stride == static_cast<int64_t>(sizeof(Word)) && value == 0) {  // most fills: gradients that are yet to be summed
    std::memset(to, 0, static_cast<size_t>(n) * sizeof(Word));
  } else if (stride == static_cast<int64_t>(sizeof(Word))) {
    std::fill_n(reinterpret_cast<Word*>(to), n, value);
  } else {
    for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * stride, &value, sizeof(Word));
  }
}

template <class Word>
void fill_all(const Array& y, Word value) {
  const Array* const operands[] = {&y};
  const StridedLoop plan(operands);
  const int64_t stride = plan.row_stride(0);
  if (plan.rows() == 1) {
    parallel_for(plan.row_size(), kThreadChunk, [&](int64_t begin, int64_t end) {
      fill_words(plan.base(0) + begin * stride, stride, end - begin, value);
    });
    return;
  }
  parallel_for(plan.rows(), rows_per_chunk(plan.row_size()), [&](int64_t begin, int64_t end) {
    StridedLoop::Cursor at(plan, begin);
    for (int64_t row = begin; row < end; ++row, at.next()) fill_words(at[0], stride, plan.row_size(), value);
  });
}

void fill(Params<Scalar> value, Out y) {
  if (y->size() == 0) return;
  visit_dtype(y->dtype(), [&]<class T>() {
    const T element = value->as<T>();
    if constexpr (sizeof(T) == 1) {
      fill_all(*y, __builtin_bit_cast(uint8_t, element));
    } else if constexpr (sizeof(T) == 2) {
      fill_all(*y, __builtin_bit_cast(uint16_t, element));
    } else if constexpr (sizeof(T) == 4) {
      fill_all(*y, __builtin_bit_cast(uint32_t, element));
    } else {
      fill_all(*y, __builtin_bit_cast(uint64_t, element));
    }
  });
}

void arange(Out y) {
  const int64_t stride = y->ndim() > 0 ? y->strides()[0] : 1;
  visit_dtype(y->dtype(), [&]<class T>() {
    T* const to = y->data<T>();
    for (int64_t i = 0; i < y->size(); ++i) to[i * stride] = convert_element<T>(i);
  });
}

}  // namespace

void register_basic(Backend& backend) {
  backend.add<kernels::Copy>(&copy);
  backend.add<kernels::Fill>(&fill);
  backend.add<kernels::Arange>(&arange);
}

}  // namespace kusari::cpu
