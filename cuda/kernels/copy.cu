#include "kusari/cuda/kernels/copy.h"

#include "kusari/cuda/kernels/element_access.cuh"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/plans/copy_plan.h"
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

/// kVector neighbours are read and written at once.
template <class Word, int kVector>
__global__ void __launch_bounds__(kThreads) transpose_words(Transposition t) {
  constexpr int kSide = tile_side(sizeof(Word)), kPad = sizeof(Word) < 4 ? 4 / sizeof(Word) : 1;
  constexpr int kLanes = kSide / kVector, kLines = kThreads / kLanes, kEach = kSide / kLines;
  using Vector = Pack<Word, kVector>;
  alignas(16) __shared__ unsigned char bytes[kSide * (kSide + kPad) * sizeof(Word)];
  const auto tile = reinterpret_cast<Word(*)[kSide + kPad]>(bytes);
  const Tile at = tile_of(t, blockIdx.x, kSide);
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
  const Tile at = tile_of(t, blockIdx.x, kSide);
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

void copy_transposed(Context& context, const StridedRange<2>& range, const CopyPlaces& places, int axis) {
  const int64_t from_size = itemsize(places.from_dtype), to_size = itemsize(places.to_dtype);
  for_each_narrow(range, [&](const StridedRange<2>& piece) {
    const bool converts = places.from_dtype != places.to_dtype;
    const int side = converts ? 32 : tile_side(static_cast<size_t>(to_size));
    const Transposition t = transposition_of(piece, places, axis, side);
    const LaunchShape shape{static_cast<unsigned>(tiles_of(t, piece)), kThreads};
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
