#include "kusari/framework/core/basic_kernels.h"

#include "kusari/cuda/kernels/copy.h"
#include "kusari/cuda/kernels/element_access.cuh"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/kernels/strided_index.cuh"
#include "kusari/cuda/runtime/register.h"

namespace kusari::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kPacks = 4;

/// n bytes from a 16-byte boundary; the pattern's period divides 16.
__global__ void __launch_bounds__(kThreads) fill_flat(char* to, uint4 pattern, int64_t n) {
  const int64_t packs = n / 16;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * (kThreads * kPacks) + threadIdx.x;
#pragma unroll
  for (int j = 0; j < kPacks; ++j) {
    if (first + j * kThreads < packs) reinterpret_cast<uint4*>(to)[first + j * kThreads] = pattern;
  }
  const int64_t i = packs * 16 + threadIdx.x;
  const uint32_t word = threadIdx.x / 4 % 4;  // of the pattern, which the tail starts anew
  if (blockIdx.x + 1 == gridDim.x && i < n) {
    const uint32_t bits = word == 0 ? pattern.x : word == 1 ? pattern.y : word == 2 ? pattern.z : pattern.w;
    to[i] = static_cast<char>(bits >> (threadIdx.x % 4 * 8));
  }
}

template <class Word>
__global__ void __launch_bounds__(kThreads) fill_words(char* to, StridedIndex<1> index, uint32_t n, Word word) {
  const uint32_t first = blockIdx.x * (kThreads * kAtOnce) + threadIdx.x;
  if (first >= n) return;
  uint32_t number[kAtOnce];
  int32_t offset[1][kAtOnce];
#pragma unroll
  for (int j = 0; j < kAtOnce; ++j) {
    const uint32_t at = first + static_cast<uint32_t>(j) * kThreads;
    number[j] = at < n ? at : first;  // what is past the end fills the first element again
  }
  index.offsets(number, offset);
#pragma unroll
  for (int j = 0; j < kAtOnce; ++j) *reinterpret_cast<Word*>(to + offset[0][j]) = word;
}

template <class Word>
void fill_all(const Array& y, Word word) {
  Context& context = Context::of(y);
  const Array* const operands[] = {&y};
  const StridedRange<1> range{StridedLoop(operands)};
  if (range.ndim == 1 && range.stride[0][0] == sizeof(Word) && is_pack_aligned(range.base[0])) {
    uint64_t pattern = word;
    for (size_t bits = sizeof(Word) * 8; bits < 64; bits *= 2) pattern |= pattern << bits;
    const auto low = static_cast<uint32_t>(pattern), high = static_cast<uint32_t>(pattern >> 32);
    const int64_t bytes = y.nbytes();
    enqueue(context, {blocks_for(bytes / 16, kThreads * kPacks), kThreads}, &fill_flat, range.base[0],
            uint4{low, high, low, high}, bytes);
    return;
  }
  for_each_narrow(range, [&](const StridedRange<1>& piece) {
    const auto elements = static_cast<uint32_t>(piece.elements());
    enqueue(context, {blocks_for(elements, kThreads * kAtOnce), kThreads}, &fill_words<Word>, piece.base[0],
            piece.index(), elements, word);
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

template <class T>
__global__ void __launch_bounds__(kThreads) arange_kernel(T* to, int64_t stride, int64_t n) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n) to[i * stride] = narrow<T>(static_cast<km::i64>(i));
}

void arange(Out y) {
  const int64_t n = y->size();
  if (n == 0) return;
  const int64_t stride = y->ndim() > 0 ? y->strides()[0] : 1;
  visit_dtype(y->dtype(), [&]<class T>() {
    enqueue(Context::of(y), {blocks_for(n, kThreads), kThreads}, &arange_kernel<T>, y->data<T>(), stride, n);
  });
}

}  // namespace

void register_basic(Backend& backend) {
  backend.add<kernels::Copy>(&copy);
  backend.add<kernels::Fill>(&fill);
  backend.add<kernels::Arange>(&arange);
}

}  // namespace kusari::cuda
