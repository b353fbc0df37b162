#include "kusari/framework/cpu/isa/quantization.h"

#include "kusari/framework/cpu/isa/bytes.h"
#include "kusari/framework/cpu/isa/result_cut.h"
#include "kusari/framework/cpu/isa/rounding.h"
#include "kusari/framework/kernels/activation.h"

namespace kusari::cpu {
namespace {

using km::i64;

template <class Q>
void widen_as(const Q* x, int zero, i64 n, i64 channels, i64 padded, short* to) {
  if (channels == padded) {
    n *= channels;
    channels = padded = n;
    n = n > 0 ? 1 : 0;
  }
  const short offset = static_cast<short>(zero);
  for (i64 i = 0; i < n; ++i, x += channels, to += padded) {
#pragma omp simd
    for (i64 c = 0; c < channels; ++c) to[c] = static_cast<short>(static_cast<short>(x[c]) - offset);
    for (i64 c = channels; c < padded; ++c) to[c] = 0;
  }
}

void widen(const void* x, bool is_signed, int zero, i64 n, i64 channels, i64 padded, short* to) {
  if (is_signed) return widen_as(static_cast<const signed char*>(x), zero, n, channels, padded, to);
  widen_as(static_cast<const unsigned char*>(x), zero, n, channels, padded, to);
}

void fill_up(const void* x, bool is_signed, i64 n, i64 channels, i64 padded, unsigned char* to) {
  const auto* from = static_cast<const unsigned char*>(x);
  const unsigned char sign = is_signed ? 128 : 0;
  if (channels == padded) {
    n *= channels;
    channels = padded = n;
    n = n > 0 ? 1 : 0;
  }
  if (channels == 3 && padded == 4) {  // the first layer's; the fourth number, whatever it is, meets no weight
    const unsigned signs = sign * 0x10101u;
    for (; n > 1; --n, from += 3, to += 4) {
      unsigned position;
      __builtin_memcpy(&position, from, 4);
      position ^= signs;
      __builtin_memcpy(to, &position, 4);
    }
  }
  for (i64 i = 0; i < n; ++i, from += channels, to += padded) {
#pragma omp simd
    for (i64 c = 0; c < channels; ++c) to[c] = static_cast<unsigned char>(from[c] ^ sign);
    for (i64 c = channels; c < padded; ++c) to[c] = 0;
  }
}

[[gnu::always_inline]] inline Vector<float> dequantize(const QuantizedOperand& x, i64 at, i64 count) {
  const Vector<int> q = load_bytes(x.q + at, count) ^ (x.flip - Vector<int>{});
  const Vector<float> zero = x.zero - Vector<float>{}, scale = x.scale - Vector<float>{};
  return (__builtin_convertvector(q, Vector<float>) - zero) * scale;
}

void add(const QuantizedOperand& a, const QuantizedOperand& b, bool relu, const PackedRounding& rounding, i64 n) {
  constexpr int kTogether = 4;
  const Rounding round(rounding);
  const ResultRange range = {relu ? ResultCut::below_zero : ResultCut::none, 0, 0};
  i64 i = 0;
  for (; i + kTogether * kLanes <= n; i += kTogether * kLanes) {
    Vector<float> sum[kTogether][1];
    for (int k = 0; k < kTogether; ++k) {
      sum[k][0] = dequantize(a, i + k * kLanes, kLanes) + dequantize(b, i + k * kLanes, kLanes);
    }
    cut_results<kTogether, 1>(range, sum);
    for (int k = 0; k < kTogether; ++k) round.store(sum[k][0], rounding.y + i + k * kLanes);
  }
  for (; i < n; i += kLanes) {
    const i64 count = n - i < kLanes ? n - i : kLanes;
    Vector<float> sum[1][1] = {{dequantize(a, i, count) + dequantize(b, i, count)}};
    cut_results<1, 1>(range, sum);
    unsigned char some[kLanes];
    round.store(sum[0][0], some);
    for (i64 k = 0; k < count; ++k) rounding.y[i + k] = some[k];
  }
}

template <class Q>
void quantize_as(const float* x, float scale, float zero, float low, float high, Q* q, i64 n) {
  const kernels::Quantize op = {low, high};
#pragma omp simd
  for (i64 i = 0; i < n; ++i) q[i] = static_cast<Q>(static_cast<int>(op(x[i], scale, zero)));
}

void quantize(const float* x, float scale, float zero, float low, float high, bool is_signed, void* q, i64 n) {
  if (is_signed) return quantize_as(x, scale, zero, low, high, static_cast<signed char*>(q), n);
  quantize_as(x, scale, zero, low, high, static_cast<unsigned char*>(q), n);
}

constexpr QuantizationLoops kLoops = {widen, fill_up, add, quantize};

}  // namespace

namespace KUSARI_ISA {
const QuantizationLoops* quantization_loops() { return &kLoops; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
