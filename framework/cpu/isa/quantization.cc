#include "kusari/framework/cpu/isa/quantization.h"

#include "kusari/framework/cpu/isa/bytes.h"
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

/// kLanes numbers of 8 bits.
class Operand {
 public:
  [[gnu::always_inline]] explicit Operand(const QuantizedOperand& x)
      : q_{x.q}, flip_{x.flip - Vector<int>{}}, zero_{x.zero - Vector<float>{}}, scale_{x.scale - Vector<float>{}} {}
  [[gnu::always_inline]] Vector<float> at(i64 i, i64 count) const {
    return (__builtin_convertvector(load_bytes(q_ + i, count) ^ flip_, Vector<float>) - zero_) * scale_;
  }

 private:
  const unsigned char* q_;
  Vector<int> flip_;
  Vector<float> zero_, scale_;
};

template <bool kIsUnit>
void add_as(const QuantizedOperand& a, const QuantizedOperand& b, const PackedRounding& given, i64 n) {
  const Operand left(a), right(b);
  const Rounding rounding(given);
  const auto sum = [&](i64 i, i64 count) __attribute__((always_inline)) {
    const Vector<float> x = left.at(i, count) + right.at(i, count);
    return kIsUnit ? x : rounding.quotient(x);
  };
  constexpr i64 kTogether = 4 * kLanes;
  unsigned char* const y = given.y;
  i64 i = 0;
  for (; i + kTogether <= n; i += kTogether) {
    const auto bytes = rounding.pack(sum(i, kLanes), sum(i + kLanes, kLanes), sum(i + 2 * kLanes, kLanes),
                                     sum(i + 3 * kLanes, kLanes));
    __builtin_memcpy(y + i, &bytes, sizeof(bytes));
  }
  for (; i < n; i += kLanes) {
    const i64 count = n - i < kLanes ? n - i : kLanes;
    const Vector<float> x = sum(i, count);
    store_parts<4>(rounding.pack(x, x, x, x), 1, y + i, 0, count);
  }
}

void add(const QuantizedOperand& a, const QuantizedOperand& b, const PackedRounding& rounding, i64 n) {
  rounding.scale == 1 ? add_as<true>(a, b, rounding, n) : add_as<false>(a, b, rounding, n);
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
