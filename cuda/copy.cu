#include "kusari/cuda/copy.h"

#include <algorithm>

#include "kusari/cuda/element_access.cuh"
#include "kusari/cuda/launch.cuh"
#include "kusari/cuda/strided_index.cuh"
#include "kusari/framework/core/array.h"

namespace kusari::cuda {
namespace {

constexpr int kThreads = 256;
/// Packs that a thread of a flat conversion reads before it writes.
constexpr int kPacks = 4;

/// Elements in a pack of a conversion: 16 bytes of the wider type.
template <class From, class To>
inline constexpr int kConvertedPack = sizeof(From) < sizeof(To) ? kPackSize<To> : kPackSize<From>;

template <class From, class To>
__global__ void __launch_bounds__(kThreads) convert_flat(const From* from, To* to, int64_t n) {
  constexpr int kPack = kConvertedPack<From, To>;
  using FromPack = Pack<From, kPack>;
  const int64_t packs = n / kPack;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * (kThreads * kPacks) + threadIdx.x;
  FromPack x[kPacks];
#pragma unroll
  for (int j = 0; j < kPacks; ++j) {
    if (first + j * kThreads < packs) x[j] = reinterpret_cast<const FromPack*>(from)[first + j * kThreads];
  }
#pragma unroll
  for (int j = 0; j < kPacks; ++j) {
    if (first + j * kThreads >= packs) break;
    Pack<To, kPack> y;
#pragma unroll
    for (int i = 0; i < kPack; ++i) y.at[i] = narrow<To>(widen(x[j].at[i]));
    reinterpret_cast<Pack<To, kPack>*>(to)[first + j * kThreads] = y;
  }
  const int64_t i = packs * kPack + threadIdx.x;
  if (blockIdx.x + 1 == gridDim.x && i < n) to[i] = narrow<To>(widen(from[i]));
}

struct CopyPlaces {
  char* to;
  const char* from;
  Dtype to_dtype, from_dtype;
};

/// Places of a thread's elements, kThreads apart; numbers past the end give element `first` again.
__device__ __forceinline__ int places_of(const StridedIndex<2>& index, uint32_t first, uint32_t n, Offsets& to,
                                         Offsets& from) {
  uint32_t number[kAtOnce];
  int32_t offset[2][kAtOnce];
  int left = 0;
#pragma unroll
  for (int j = 0; j < kAtOnce; ++j) {
    const uint32_t at = first + static_cast<uint32_t>(j) * kThreads;
    left += at < n ? 1 : 0;
    number[j] = at < n ? at : first;
  }
  index.offsets(number, offset);
#pragma unroll
  for (int j = 0; j < kAtOnce; ++j) {
    to.at[j] = offset[0][j];
    from.at[j] = offset[1][j];
  }
  return left;
}

/// Elements of equal dtypes, or several neighbours at once, as words.
template <class Word>
__global__ void __launch_bounds__(kThreads) copy_words(CopyPlaces places, StridedIndex<2> index, uint32_t n) {
  const uint32_t first = blockIdx.x * (kThreads * kAtOnce) + threadIdx.x;
  if (first >= n) return;
  Offsets to, from;
  const int left = places_of(index, first, n, to, from);
  Word word[kAtOnce];
#pragma unroll
  for (int j = 0; j < kAtOnce; ++j) word[j] = *reinterpret_cast<const Word*>(places.from + from.at[j]);
#pragma unroll
  for (int j = 0; j < kAtOnce; ++j) {
    if (j < left) *reinterpret_cast<Word*>(places.to + to.at[j]) = word[j];
  }
}

template <class C>
__global__ void __launch_bounds__(kThreads) copy_converted(CopyPlaces places, StridedIndex<2> index, uint32_t n) {
  const uint32_t first = blockIdx.x * (kThreads * kAtOnce) + threadIdx.x;
  if (first >= n) return;
  Offsets to, from;
  const int left = places_of(index, first, n, to, from);
  const Values<C> values = load_values<C>(places.from, from, places.from_dtype);
  store_values<C>(places.to, to, values, left, places.to_dtype);
}

/// Matrices whose rows are contiguous in `to` and whose columns are contiguous in `from`, cut into square tiles.
struct Transposition {
  CopyPlaces places;
  int32_t rows, columns;
  int32_t from_stride;   // bytes from one column to the next
  int32_t to_stride;     // bytes from one row to the next
  Divisor across, down;  // tiles of a matrix
  StridedIndex<2> matrices;
};

struct Tile {
  int row, column;   // its first element
  int64_t to, from;  // bytes to its matrix
};

__device__ __forceinline__ Tile tile_of_block(const Transposition& t, int side) {
  const uint32_t line = t.across.quotient(blockIdx.x), matrix = t.down.quotient(line);
  uint32_t number[1] = {matrix};
  int32_t offset[2][1];
  t.matrices.offsets(number, offset);
  return {static_cast<int>(line - matrix * t.down.value()) * side,
          static_cast<int>(blockIdx.x - line * t.across.value()) * side, offset[0][0], offset[1][0]};
}

/// Side of a tile of words of that many bytes: at least 128 bytes.
constexpr int tile_side(size_t bytes) { return bytes <= 2 ? 64 : 32; }

/// kVector neighbours are read and written at once.
template <class Word, int kVector>
__global__ void __launch_bounds__(kThreads) transpose_words(Transposition t) {
  constexpr int kSide = tile_side(sizeof(Word)), kPad = sizeof(Word) < 4 ? 4 / sizeof(Word) : 1;
  constexpr int kLanes = kSide / kVector, kLines = kThreads / kLanes, kEach = kSide / kLines;
  using Vector = Pack<Word, kVector>;
  alignas(16) __shared__ unsigned char bytes[kSide * (kSide + kPad) * sizeof(Word)];
  const auto tile = reinterpret_cast<Word(*)[kSide + kPad]>(bytes);
  const Tile at = tile_of_block(t, kSide);
  const int lane = static_cast<int>(threadIdx.x) % kLanes * kVector, line = static_cast<int>(threadIdx.x) / kLanes;

  const char* const from = t.places.from + at.from + static_cast<int64_t>(at.row + lane) * sizeof(Word);
  Vector x[kEach];
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    const int column = at.column + line + j * kLines;
    if (at.row + lane < t.rows && column < t.columns)
      x[j] = *reinterpret_cast<const Vector*>(from + static_cast<int64_t>(column) * t.from_stride);
  }
#pragma unroll
  for (int j = 0; j < kEach; ++j) *reinterpret_cast<Vector*>(&tile[line + j * kLines][lane]) = x[j];
  __syncthreads();
  char* const to = t.places.to + at.to + static_cast<int64_t>(at.column + lane) * sizeof(Word);
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    const int row = at.row + line + j * kLines;
    Vector y;
#pragma unroll
    for (int v = 0; v < kVector; ++v) y.at[v] = tile[lane + v][line + j * kLines];
    if (at.column + lane < t.columns && row < t.rows)
      *reinterpret_cast<Vector*>(to + static_cast<int64_t>(row) * t.to_stride) = y;
  }
}

template <class C>
__global__ void __launch_bounds__(kThreads) transpose_converted(Transposition t, int from_size, int to_size) {
  constexpr int kSide = 32, kLines = kThreads / kSide;
  static_assert(kSide / kLines == kAtOnce);
  __shared__ C tile[kSide][kSide + 1];
  const Tile at = tile_of_block(t, kSide);
  const int lane = static_cast<int>(threadIdx.x) % kSide, line = static_cast<int>(threadIdx.x) / kSide;

  Offsets from;
#pragma unroll
  for (int j = 0; j < kAtOnce; ++j) {
    // Past the edge its last element is read again.
    const int row = min(at.row + lane, t.rows - 1), column = min(at.column + line + j * kLines, t.columns - 1);
    from.at[j] = row * from_size + column * t.from_stride;
  }
  const Values<C> x = load_values<C>(t.places.from + at.from, from, t.places.from_dtype);
#pragma unroll
  for (int j = 0; j < kAtOnce; ++j) tile[line + j * kLines][lane] = x.at[j];
  __syncthreads();
  const int column = at.column + lane;
  Offsets to;
  Values<C> y;
  int left = 0;
#pragma unroll
  for (int j = 0; j < kAtOnce; ++j) {
    const int row = at.row + line + j * kLines;
    left += column < t.columns && row < t.rows ? 1 : 0;
    to.at[j] = row * t.to_stride + column * to_size;
    y.at[j] = tile[lane][line + j * kLines];
  }
  store_values<C>(t.places.to + at.to, to, y, left, t.places.to_dtype);
}

/// Calls f with a word of that many bytes: a type of that size and alignment.
template <class F>
void visit_word(int64_t bytes, const F& f) {
  switch (bytes) {
    case 1:
      return f.template operator()<uint8_t>();
    case 2:
      return f.template operator()<uint16_t>();
    case 4:
      return f.template operator()<uint32_t>();
    case 8:
      return f.template operator()<uint2>();
    default:
      return f.template operator()<uint4>();
  }
}

/// Calls f with the type that holds every value of the dtype.
template <class F>
void visit_compute(Dtype dtype, const F& f) {
  if (dtype == Dtype::float64) return f.template operator()<double>();
  return is_floating(dtype) ? f.template operator()<float>() : f.template operator()<km::i64>();
}

/// Whether it was done: packs need their alignment.
bool convert_dense(Context& context, const CopyPlaces& places, int64_t n) {
  bool done = false;
  visit_dtype(places.from_dtype, [&]<class From>() {
    visit_dtype(places.to_dtype, [&]<class To>() {
      if constexpr (dtype_of<From> != dtype_of<To>) {
        constexpr int kPack = kConvertedPack<From, To>;
        done = reinterpret_cast<uintptr_t>(places.from) % (sizeof(From) * kPack) == 0 &&
               reinterpret_cast<uintptr_t>(places.to) % (sizeof(To) * kPack) == 0;
        if (!done) return;
        enqueue(context, {blocks_for(n / kPack, kThreads * kPacks), kThreads}, &convert_flat<From, To>,
                reinterpret_cast<const From*>(places.from), reinterpret_cast<To*>(places.to), n);
      }
    });
  });
  return done;
}

/// The axis along which x's elements follow each other, when y's do along another one and both are long; else -1.
int transposed_axis(const StridedRange<2>& range, int64_t to_size, int64_t from_size) {
  constexpr int64_t kLong = 16;
  const int inner = range.ndim - 1;
  if (range.stride[0][inner] != to_size || range.stride[1][inner] == from_size || range.stride[1][inner] == 0)
    return -1;
  for (int axis = 0; axis < inner; ++axis) {
    if (range.stride[1][axis] == from_size) return std::min(range.size[axis], range.size[inner]) >= kLong ? axis : -1;
  }
  return -1;
}

/// A piece that is narrow; the tiles' side is `side`.
Transposition transposition_of(const StridedRange<2>& piece, CopyPlaces places, int axis, int side) {
  const int inner = piece.ndim - 1;
  Transposition t;
  t.places = places;
  t.places.to = piece.base[0];
  t.places.from = piece.base[1];
  t.rows = static_cast<int32_t>(piece.size[axis]);
  t.columns = static_cast<int32_t>(piece.size[inner]);
  t.from_stride = static_cast<int32_t>(piece.stride[1][inner]);
  t.to_stride = static_cast<int32_t>(piece.stride[0][axis]);
  t.across = Divisor((t.columns + side - 1) / side);
  t.down = Divisor((t.rows + side - 1) / side);
  StridedRange<2> matrices;
  matrices.ndim = 0;
  for (int other = 0; other < inner; ++other) {
    if (other == axis) continue;
    matrices.size[matrices.ndim] = piece.size[other];
    for (int k = 0; k < 2; ++k) matrices.stride[k][matrices.ndim] = piece.stride[k][other];
    ++matrices.ndim;
  }
  if (matrices.ndim == 0) {
    matrices.ndim = 1;
    matrices.size[0] = 1;
    matrices.stride[0][0] = matrices.stride[1][0] = 0;
  }
  t.matrices = matrices.index();
  return t;
}

/// Whether pairs of words can be read and written at once.
bool has_pairs(const StridedRange<2>& piece, int axis, int64_t word) {
  const int64_t pair = 2 * word;
  if (piece.size[axis] % 2 != 0 || piece.size[piece.ndim - 1] % 2 != 0) return false;
  for (int k = 0; k < 2; ++k) {
    if (reinterpret_cast<uintptr_t>(piece.base[k]) % static_cast<uint64_t>(pair) != 0) return false;
    for (int other = 0; other < piece.ndim; ++other) {
      if (piece.stride[k][other] != word && piece.stride[k][other] % pair != 0) return false;
    }
  }
  return true;
}

void copy_transposed(Context& context, const StridedRange<2>& range, const CopyPlaces& places, int axis) {
  const int64_t from_size = itemsize(places.from_dtype), to_size = itemsize(places.to_dtype);
  for_each_narrow(range, [&](const StridedRange<2>& piece) {
    const bool converts = places.from_dtype != places.to_dtype;
    const int side = converts ? 32 : tile_side(static_cast<size_t>(to_size));
    const Transposition t = transposition_of(piece, places, axis, side);
    const int64_t tiles = piece.elements() / (int64_t{t.rows} * t.columns) * t.across.value() * t.down.value();
    const LaunchShape shape{static_cast<unsigned>(tiles), kThreads};
    if (converts) {
      visit_compute(places.from_dtype, [&]<class C>() {
        enqueue(context, shape, &transpose_converted<C>, t, static_cast<int>(from_size), static_cast<int>(to_size));
      });
    } else if (to_size == 2 && has_pairs(piece, axis, to_size)) {
      enqueue(context, shape, &transpose_words<uint16_t, 2>, t);
    } else {
      visit_word(to_size, [&]<class Word>() {
        if constexpr (sizeof(Word) <= 8) enqueue(context, shape, &transpose_words<Word, 1>, t);
      });
    }
  });
}

/// Bytes of the largest word in which neighbours can be copied together.
int64_t word_of(const StridedRange<2>& range, int itemsize) {
  const int inner = range.ndim - 1;
  if (range.stride[0][inner] != itemsize || range.stride[1][inner] != itemsize) return itemsize;
  int64_t word = 16;
  while (word > itemsize && !range.has_packs(word / itemsize, {itemsize, itemsize})) word /= 2;
  return word;
}

}  // namespace

void copy(In x, Out y) {
  const int64_t n = y->size();
  if (n == 0) return;
  Context& context = Context::of(y);
  const CopyPlaces places{y->data<char>(), x->data<char>(), y->dtype(), x->dtype()};
  const bool converts = places.from_dtype != places.to_dtype;
  const auto to_size = static_cast<int>(itemsize(places.to_dtype));
  const auto from_size = static_cast<int>(itemsize(places.from_dtype));
  const Array* const operands[] = {&*y, &*x};
  StridedRange<2> range{StridedLoop(operands)};
  if (range.ndim == 1 && range.stride[0][0] == to_size && range.stride[1][0] == from_size) {
    if (!converts) {
      KUSARI_CUDA_CHECK(cudaMemcpyAsync(places.to, places.from, static_cast<size_t>(n * to_size),
                                        cudaMemcpyDeviceToDevice, context.stream()));
      return;
    }
    if (convert_dense(context, places, n)) return;
  }
  if (const int axis = transposed_axis(range, to_size, from_size); axis >= 0) {
    copy_transposed(context, range, places, axis);
    return;
  }
  const int64_t word = converts ? 0 : word_of(range, to_size);
  if (!converts) range.group(word / to_size);
  for_each_narrow(range, [&](const StridedRange<2>& piece) {
    const CopyPlaces at{piece.base[0], piece.base[1], places.to_dtype, places.from_dtype};
    const auto elements = static_cast<uint32_t>(piece.elements());
    const LaunchShape shape{blocks_for(elements, kThreads * kAtOnce), kThreads};
    if (converts) {
      visit_compute(at.from_dtype,
                    [&]<class C>() { enqueue(context, shape, &copy_converted<C>, at, piece.index(), elements); });
    } else {
      visit_word(word, [&]<class Word>() { enqueue(context, shape, &copy_words<Word>, at, piece.index(), elements); });
    }
  });
}

}  // namespace kusari::cuda
