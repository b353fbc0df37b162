#include "kusari/framework/cpu/isa/image_batch.h"

#include "kusari/framework/cpu/isa/half.h"
#include "kusari/framework/kernels/pixel_scale.h"

namespace kusari::cpu {
namespace {

using u8 = unsigned char;
constexpr int kPixels = static_cast<int>(kPixelGroup);

template <class X, class T>
KUSARI_INLINE void scale_group(const X* x, const T* mean, const T* scale, T* y) {
#pragma omp simd
  for (int i = 0; i < kPixels; ++i) y[i] = kernels::scaled_pixel(static_cast<T>(x[i]), mean[i], scale[i]);
}

/// From element `phase` of a period on; returns where in it the elements end, a whole number of groups later or at the
/// end of a line.
template <class X, class T>
KUSARI_INLINE i64 scale_some(const X* x, const T* mean, const T* scale, T* y, i64 n, i64 period, i64 phase) {
  i64 i = 0;
  for (; i + kPixelGroup <= n; i += kPixelGroup) {
    scale_group(x + i, mean + phase, scale + phase, y + i);
    phase = phase + kPixelGroup == period ? 0 : phase + kPixelGroup;
  }
  for (i64 k = 0; i + k < n; ++k) {
    y[i + k] = kernels::scaled_pixel(static_cast<T>(x[i + k]), mean[phase + k], scale[phase + k]);
  }
  return phase;
}

template <class X, class T, class Y>
void scale_line(const void* x, const void* mean, const void* scale, void* y, i64 n, i64 c) {
  const X* const from = static_cast<const X*>(x);
  const T *const means = static_cast<const T*>(mean), *const scales = static_cast<const T*>(scale);
  Y* const to = static_cast<Y*>(y);
  const i64 period = c * kPixelGroup;
  if constexpr (sizeof(Y) == sizeof(T)) {
    scale_some(from, means, scales, to, n, period, 0);
  } else {
    // Narrowed when they are out of the processor's store buffer, from which wider loads must wait.
    constexpr i64 kSome = 32 * kPixelGroup;
    T wide[kSome];
    for (i64 i = 0, phase = 0; i < n; i += kSome) {
      const i64 some = n - i < kSome ? n - i : kSome;
      phase = scale_some(from + i, means, scales, wide, some, period, phase);
      narrow(wide, to + i, some);
    }
  }
}

/// Element i of 16 bytes: the byte that belongs there when kChannels-byte pixels come in reverse order, the last byte
/// of the last whole pixel at 15.
template <int kChannels>
constexpr int reversed(int i) {
  const int back = 15 - i, whole = 16 / kChannels * kChannels;
  return back < whole ? back / kChannels * kChannels + kChannels - 1 - back % kChannels : 0;
}

typedef u8 Bytes __attribute__((vector_size(16)));

template <int kChannels>
KUSARI_INLINE Bytes reverse_bytes(Bytes x) {
#define KUSARI_R(i) reversed<kChannels>(i)
  return __builtin_shufflevector(x, x, KUSARI_R(0), KUSARI_R(1), KUSARI_R(2), KUSARI_R(3), KUSARI_R(4), KUSARI_R(5),
                                 KUSARI_R(6), KUSARI_R(7), KUSARI_R(8), KUSARI_R(9), KUSARI_R(10), KUSARI_R(11),
                                 KUSARI_R(12), KUSARI_R(13), KUSARI_R(14), KUSARI_R(15));
#undef KUSARI_R
}

/// kC: the channels, or 0 when only the argument knows them.
template <int kC, class X>
void reverse_pixels(const X* x, X* to, i64 n, i64 channels) {
  const i64 c = kC > 0 ? kC : channels;
  i64 i = 0;
  to += n;
  if constexpr (kC > 0 && sizeof(X) == 1) {
    // A vector at a time, whose first byte may be of no whole pixel: it is written where the next one goes.
    constexpr i64 kWhole = 16 / kC * kC;
    for (; i + 16 + kC <= n; i += kWhole) {
      Bytes bytes;
      __builtin_memcpy(&bytes, x + i, sizeof(bytes));
      bytes = reverse_bytes<kC>(bytes);
      __builtin_memcpy(to - i - 16, &bytes, sizeof(bytes));
    }
  }
  for (; i < n; i += c) {
    for (i64 k = 0; k < c; ++k) to[k - i - c] = x[i + k];
  }
}

template <class X>
void reverse_line(const void* x, void* to, i64 n, i64 c) {
  const X* const from = static_cast<const X*>(x);
  X* const reversed_line = static_cast<X*>(to);
  switch (c) {
    case 1:
      return reverse_pixels<1>(from, reversed_line, n, c);
    case 3:
      return reverse_pixels<3>(from, reversed_line, n, c);
    case 4:
      return reverse_pixels<4>(from, reversed_line, n, c);
    default:
      return reverse_pixels<0>(from, reversed_line, n, c);
  }
}

template <class X, class T, class Y>
constexpr ImageLoop kLoop = {&scale_line<X, T, Y>, &reverse_line<X>};

constexpr ImageLoops kTable = {{kLoop<u8, float, Half>, kLoop<float, float, Half>},
                               {kLoop<u8, float, Brain>, kLoop<float, float, Brain>},
                               {kLoop<u8, float, float>, kLoop<float, float, float>},
                               kLoop<double, double, double>};

}  // namespace

namespace KUSARI_ISA {
const ImageLoops* image_loops() { return &kTable; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
