#include "kusari/framework/core/basic_kernels.h"

#include <algorithm>
#include <cstring>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/register.h"
#include "kusari/framework/cpu/strided.h"

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

/// Elements along each side of a square that is transposed at a time: its lines of memory stay in the cache.
constexpr int64_t kTile = 32;

/// y[a][b] = x[b][a] for a rectangle: y's elements follow each other along b, x's along a.
template <class Word>
void transpose_tile(const char* from, int64_t from_stride, char* to, int64_t to_stride, int64_t rows, int64_t columns) {
  constexpr int64_t kSize = sizeof(Word);
  for (int64_t a = 0; a < rows; ++a) {
    for (int64_t b = 0; b < columns; ++b) {
      std::memcpy(to + a * to_stride + b * kSize, from + a * kSize + b * from_stride, sizeof(Word));
    }
  }
}

using TransposeTile = void (*)(const char*, int64_t, char*, int64_t, int64_t, int64_t);

TransposeTile transpose_tile_for(int itemsize) {
  switch (itemsize) {
    case 1:
      return &transpose_tile<uint8_t>;
    case 2:
      return &transpose_tile<uint16_t>;
    case 4:
      return &transpose_tile<uint32_t>;
    default:
      return &transpose_tile<uint64_t>;
  }
}

/// The axis along which x's elements follow each other, when y's do along another one; else -1.
int transposed_axis(const StridedLoop& plan, int itemsize) {
  const int inner = plan.ndim() - 1;
  if (plan.row_stride(0) != itemsize || plan.row_stride(1) == itemsize) return -1;
  for (int axis = 0; axis < inner; ++axis) {
    if (plan.stride(1, axis) == itemsize) return axis;
  }
  return -1;
}

/// Copies a permutation of axes (images to channels-last and back) tile by tile.
void copy_transposed(const StridedLoop& plan, int axis, int itemsize) {
  const int inner = plan.ndim() - 1;
  const int64_t tiles = (plan.size(axis) + kTile - 1) / kTile, columns = plan.row_size();
  const int64_t others = plan.rows() / plan.size(axis), chunk = std::max<int64_t>(1, kThreadChunk / (kTile * columns));
  const TransposeTile transpose = transpose_tile_for(itemsize);
  parallel_for(others * tiles, chunk, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t first = unit % tiles * kTile, rows = std::min(kTile, plan.size(axis) - first);
      char* to = plan.base(0) + first * plan.stride(0, axis);
      const char* from = plan.base(1) + first * plan.stride(1, axis);
      int64_t rest = unit / tiles;
      for (int other = inner - 1; other >= 0; --other) {
        if (other == axis) continue;
        const int64_t index = rest % plan.size(other);
        rest /= plan.size(other);
        to += index * plan.stride(0, other);
        from += index * plan.stride(1, other);
      }
      for (int64_t column = 0; column < columns; column += kTile) {
        transpose(from + column * plan.row_stride(1), plan.row_stride(1), to + column * itemsize, plan.stride(0, axis),
                  rows, std::min(kTile, columns - column));
      }
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
  if (convert == nullptr) {
    if (const int axis = transposed_axis(plan, from_size); axis >= 0) {
      copy_transposed(plan, axis, from_size);
      return;
    }
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
  if (stride == static_cast<int64_t>(sizeof(Word))) {
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
