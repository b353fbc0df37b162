#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/kernels/pack_access.cuh"
#include "kusari/cuda/kernels/quantized_numbers.cuh"
#include "kusari/cuda/runtime/register.h"
#include "kusari/framework/kernels/quantized_convolution.h"

namespace kusari::cuda {
namespace {

constexpr int kAddThreads = 256;
constexpr int kAddPack = 16;

/// An array of 8 bits, and what its numbers stand for.
struct QuantizedTerms {
  const uint8_t* q;
  bool is_signed;
  QuantizedNumbers scale, zero;
};
class Dequantizer {
 public:
  __device__ __forceinline__ explicit Dequantizer(const QuantizedTerms& terms)
      : is_signed_{terms.is_signed}, scale_{terms.scale[0]}, zero_{terms.zero[0]} {}
  __device__ __forceinline__ float operator()(uint8_t q) const {
    return kernels::Dequantize{}(static_cast<float>(is_signed_ ? static_cast<int8_t>(q) : int{q}), scale_, zero_);
  }

 private:
  bool is_signed_;
  float scale_, zero_;
};

/// N neighbours for each thread.
template <int N>
__global__ void __launch_bounds__(kAddThreads)
    add_quantized(QuantizedTerms a, QuantizedTerms b, QuantizedRounding rounding, bool relu, uint8_t* y,
                  int64_t packs) {
  const int64_t pack = int64_t{blockIdx.x} * kAddThreads + threadIdx.x;
  if (pack >= packs) return;
  const Dequantizer of_a(a), of_b(b);
  const QuantizedRounder round(rounding);
  const Pack<uint8_t, N> left = load_pack<N>(a.q, pack), right = load_pack<N>(b.q, pack);
  Pack<uint8_t, N> result;
#pragma unroll
  for (int i = 0; i < N; ++i) {
    const float sum = of_a(left.at[i]) + of_b(right.at[i]);
    result.at[i] = round(relu ? kernels::Relu{}(sum) : sum);
  }
  store_pack<N>(y, pack, result);
}

void quantized_add(Params<kernels::QuantizedAdd> options, In a, In a_scale, In a_zero, In b, In b_scale, In b_zero,
                   In y_scale, In y_zero, Out y) {
  kernels::check_quantized_add(a, b, y);
  const int64_t n = y->size();
  if (n == 0) return;
  const Array numbers[] = {QuantizedNumbers::readable(*a_scale), QuantizedNumbers::readable(*a_zero),
                           QuantizedNumbers::readable(*b_scale), QuantizedNumbers::readable(*b_zero),
                           QuantizedNumbers::readable(*y_scale), QuantizedNumbers::readable(*y_zero)};
  const auto at = [&](int i) { return QuantizedNumbers(numbers[i]); };
  const auto terms = [&](const Array& q, int first, int64_t skipped) {
    return QuantizedTerms{static_cast<const uint8_t*>(q.raw_data()) + skipped, q.dtype() == Dtype::int8, at(first),
                          at(first + 1)};
  };
  const QuantizedRounding rounding = {at(4), at(5), options->low, options->high};
  const bool is_aligned =
      is_pack_aligned(a->raw_data()) && is_pack_aligned(b->raw_data()) && is_pack_aligned(y->raw_data());
  const int64_t packs = is_aligned ? n / kAddPack : 0, packed = packs * kAddPack;
  auto* const to = static_cast<uint8_t*>(y->raw_data());
  Context& context = Context::of(y);
  const auto run = [&](auto kernel, int64_t skipped, int64_t count) {
    if (count == 0) return;
    enqueue(context, {{blocks_for(count, kAddThreads)}, {kAddThreads}}, kernel, terms(*a, 0, skipped),
            terms(*b, 2, skipped), rounding, options->relu, to + skipped, count);
  };
  run(&add_quantized<kAddPack>, 0, packs);
  run(&add_quantized<1>, packed, n - packed);
}

}  // namespace

void register_quantized_add(Backend& backend) { backend.add<kernels::QuantizedAddForward>(quantized_add); }

}  // namespace kusari::cuda
