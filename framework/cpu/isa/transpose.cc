#include "kusari/framework/cpu/isa/transpose.h"

namespace kusari::cpu {
namespace {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = km::u64;

// A vector is made of lanes of 16 bytes, within which processors interleave elements fastest.
#if defined(__AVX512BW__)
constexpr int kLanes = 4;
#elif defined(__AVX2__)
constexpr int kLanes = 2;
#else
constexpr int kLanes = 1;
#endif
constexpr int kLaneBytes = 16, kLineBytes = 64;

template <class Word, int kCount>
struct VectorOf {
  typedef Word Type __attribute__((vector_size(kCount * sizeof(Word))));
  typedef Word Unaligned __attribute__((vector_size(kCount * sizeof(Word)), aligned(1), may_alias));
};
template <class Word, int kCount>
using Vector = typename VectorOf<Word, kCount>::Type;

/// Words in a lane.
template <class Word>
constexpr int kWords = kLaneBytes / static_cast<int>(sizeof(Word));

template <int... kIndex>
struct Indices {};
template <int kCount, int... kIndex>
struct Count : Count<kCount - 1, kCount - 1, kIndex...> {};
template <int... kIndex>
struct Count<0, kIndex...> {
  using Type = Indices<kIndex...>;
};

template <class V, int... kIndex>
[[gnu::always_inline]] inline auto concatenate(V a, V b, Indices<kIndex...>) {
  return __builtin_shufflevector(a, b, kIndex...);
}

/// Lane k: the words at from + k * step.
template <class Word, int kCount>
[[gnu::always_inline]] inline Vector<Word, kCount * kWords<Word>> gather_lanes(const char* from, i64 step) {
  if constexpr (kCount == 1) {
    return *reinterpret_cast<const typename VectorOf<Word, kWords<Word>>::Unaligned*>(from);
  } else {
    constexpr int kHalf = kCount / 2;
    return concatenate(gather_lanes<Word, kHalf>(from, step), gather_lanes<Word, kHalf>(from + kHalf * step, step),
                       typename Count<kCount * kWords<Word>>::Type{});
  }
}

/// Where word i of two vectors' interleaved halves comes from: a0 b0 a1 b1 ... in each lane, from its lower or upper
/// half.
template <class Word>
constexpr int interleaved(int i, int total, bool upper) {
  const int lane = i / kWords<Word>, at = i % kWords<Word>;
  return lane * kWords<Word> + at / 2 + (upper ? kWords<Word> / 2 : 0) + (at % 2 == 0 ? 0 : total);
}

template <class Word, bool kUpper, class V, int... kIndex>
[[gnu::always_inline]] inline V interleave(V a, V b, Indices<kIndex...>) {
  return __builtin_shufflevector(a, b, interleaved<Word>(kIndex, sizeof...(kIndex), kUpper)...);
}

/// One vector for each of kWords rows of `to`. Interleaving the first half of kWords vectors with the second is a
/// perfect shuffle of the words of each lane; log2(kWords) of them transpose a square.
template <class Word, int kCount>
[[gnu::always_inline]] inline void transpose_block(const char* from, i64 from_stride, char* to, i64 to_stride) {
  constexpr int n = kWords<Word>;
  using V = Vector<Word, kCount * n>;
  using All = typename Count<kCount * n>::Type;
  V x[n];
#pragma GCC unroll 16
  for (int i = 0; i < n; ++i) x[i] = gather_lanes<Word, kCount>(from + i * from_stride, n * from_stride);
#pragma GCC unroll 4
  for (int step = 1; step < n; step *= 2) {
    V shuffled[n];
#pragma GCC unroll 8
    for (int i = 0; i < n / 2; ++i) {
      shuffled[2 * i] = interleave<Word, false>(x[i], x[i + n / 2], All{});
      shuffled[2 * i + 1] = interleave<Word, true>(x[i], x[i + n / 2], All{});
    }
#pragma GCC unroll 16
    for (int i = 0; i < n; ++i) x[i] = shuffled[i];
  }
#pragma GCC unroll 16
  for (int i = 0; i < n; ++i) {
    *reinterpret_cast<typename VectorOf<Word, kCount * n>::Unaligned*>(to + i * to_stride) = x[i];
  }
}

/// Any rectangle that has room for a block: the last ones overlap those before. Lines of memory on both sides are used
/// up while they are in the cache, where those of many rows may want the same place.
template <class Word, int kCount>
void transpose_blocks(const char* from, i64 from_stride, char* to, i64 to_stride, i64 rows, i64 columns) {
  constexpr i64 kSize = sizeof(Word), kHigh = kWords<Word>, kWide = kCount * kHigh, kLine = kLineBytes / kSize;
  for (i64 strip = 0; strip < rows; strip += kLine) {
    const i64 rows_end = strip + kLine < rows ? strip + kLine : rows;
    for (i64 line = 0; line < columns; line += kLine) {
      const i64 columns_end = line + kLine < columns ? line + kLine : columns;
      for (i64 row = strip; row < rows_end; row += kHigh) {
        const i64 a = row + kHigh <= rows ? row : rows - kHigh;
        for (i64 column = line; column < columns_end; column += kWide) {
          const i64 b = column + kWide <= columns ? column : columns - kWide;
          transpose_block<Word, kCount>(from + a * kSize + b * from_stride, from_stride, to + a * to_stride + b * kSize,
                                        to_stride);
        }
      }
    }
  }
}

/// Bytes from one element to the next along an axis.
struct Steps {
  i64 from, to;
};

/// Any other rectangle, one word after the other: kInner words along one axis, or as many as there are if that is 0.
template <class Word, int kInner>
void transpose_words(const char* from, char* to, i64 outer, Steps outer_step, i64 inner, Steps inner_step) {
  const i64 n = kInner > 0 ? kInner : inner;
  for (i64 i = 0; i < outer; ++i) {
    for (i64 j = 0; j < n; ++j) {
      __builtin_memcpy(to + i * outer_step.to + j * inner_step.to, from + i * outer_step.from + j * inner_step.from,
                       sizeof(Word));
    }
  }
}

template <class Word>
void transpose(const char* from, i64 from_stride, char* to, i64 to_stride, i64 rows, i64 columns) {
  constexpr i64 kSize = sizeof(Word), kHigh = kWords<Word>;
  const Steps row = {kSize, to_stride}, column = {from_stride, kSize};
  if (rows >= kHigh && columns >= kLanes * kHigh) {
    transpose_blocks<Word, kLanes>(from, from_stride, to, to_stride, rows, columns);
  } else if (rows >= kHigh && columns >= kHigh) {
    transpose_blocks<Word, 1>(from, from_stride, to, to_stride, rows, columns);
  } else if (columns == 3) {  // the colours of an image
    transpose_words<Word, 3>(from, to, rows, row, columns, column);
  } else if (rows == 3) {
    transpose_words<Word, 3>(from, to, columns, column, rows, row);
  } else if (columns < rows) {
    transpose_words<Word, 0>(from, to, rows, row, columns, column);
  } else {
    transpose_words<Word, 0>(from, to, columns, column, rows, row);
  }
}

constexpr TransposeLoops kTable = {{&transpose<u8>, &transpose<u16>, &transpose<u32>, &transpose<u64>}};

}  // namespace

namespace KUSARI_ISA {
const TransposeLoops* transpose_loops() { return &kTable; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
