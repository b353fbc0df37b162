#include "kusari/framework/cpu/isa/convolution.h"

namespace kusari::cpu {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class T>
struct Simd {
  typedef T Vector __attribute__((vector_size(kVectorBytes)));
  typedef T Unaligned __attribute__((vector_size(kVectorBytes), aligned(sizeof(T)), may_alias));
  static constexpr i64 kLanes = kVectorBytes / static_cast<i64>(sizeof(T));
};
template <class T>
using Vector = typename Simd<T>::Vector;

template <class T>
[[gnu::always_inline]] inline Vector<T> load(const T* from) {
  return *reinterpret_cast<const typename Simd<T>::Unaligned*>(from);
}
template <class T>
[[gnu::always_inline]] inline void store(T* to, Vector<T> value) {
  *reinterpret_cast<typename Simd<T>::Unaligned*>(to) = value;
}

template <class T>
void copy(const void* from, i64 from_step, void* to, i64 to_step, i64 rows, i64 n) {
  constexpr i64 kLanes = Simd<T>::kLanes;
  const T* source = static_cast<const T*>(from);
  T* target = static_cast<T*>(to);
  for (i64 row = 0; row < rows; ++row, source += from_step, target += to_step) {
    i64 i = 0;
    for (; i + kLanes <= n; i += kLanes) store(target + i, load(source + i));
    if (i < n && n >= kLanes) {
      store(target + n - kLanes, load(source + n - kLanes));
    } else {
      for (; i < n; ++i) target[i] = source[i];
    }
  }
}

template <class T>
void clear(void* to, i64 to_step, i64 rows, i64 n) {
  T* target = static_cast<T*>(to);
  for (i64 row = 0; row < rows; ++row, target += to_step) {
    for (i64 i = 0; i < n; ++i) target[i] = T{0};
  }
}

template <class T>
void add(const void* from, i64 from_step, void* to, i64 to_step, i64 rows, i64 n) {
  constexpr i64 kLanes = Simd<T>::kLanes;
  const T* source = static_cast<const T*>(from);
  T* target = static_cast<T*>(to);
  for (i64 row = 0; row < rows; ++row, source += from_step, target += to_step) {
    i64 i = 0;
    for (; i + kLanes <= n; i += kLanes) store(target + i, load(target + i) + load(source + i));
    for (; i < n; ++i) target[i] += source[i];
  }
}

/// kVectors vectors of channels from `channel` on, all positions.
template <class T, int kVectors>
[[gnu::always_inline]] inline void depthwise_block(const DepthwiseCall& call, i64 channel) {
  constexpr i64 kLanes = Simd<T>::kLanes;
  const T* const w = static_cast<const T*>(call.w) + channel;
  const T* source = static_cast<const T*>(call.source) + channel;
  T* result = static_cast<T*>(call.result) + channel;
  Vector<T> bias[kVectors] = {};
  if (call.bias != nullptr) {
    for (int v = 0; v < kVectors; ++v) bias[v] = load(static_cast<const T*>(call.bias) + channel + v * kLanes);
  }
  for (i64 i = 0; i < call.positions; ++i, source += call.source_step, result += call.result_step) {
    Vector<T> acc[kVectors];
    for (int v = 0; v < kVectors; ++v) acc[v] = bias[v];
    for (i64 t = 0; t < call.taps; ++t) {
      const T* const x = source + call.source_offset[t];
      const T* const weight = w + call.w_offset[t];
      for (int v = 0; v < kVectors; ++v) acc[v] += load(x + v * kLanes) * load(weight + v * kLanes);
    }
    for (int v = 0; v < kVectors; ++v) store(result + v * kLanes, acc[v]);
  }
}

template <class T>
void depthwise(const DepthwiseCall& call) {
  constexpr i64 kLanes = Simd<T>::kLanes;
  i64 channel = 0;
  if (call.source_spacing == 1 && call.result_spacing == 1) {
    for (; channel + 4 * kLanes <= call.channels; channel += 4 * kLanes) depthwise_block<T, 4>(call, channel);
    for (; channel + kLanes <= call.channels; channel += kLanes) depthwise_block<T, 1>(call, channel);
  }
  const T* const w = static_cast<const T*>(call.w);
  const T* source = static_cast<const T*>(call.source);
  T* result = static_cast<T*>(call.result);
  for (i64 i = 0; i < call.positions; ++i, source += call.source_step, result += call.result_step) {
    for (i64 c = channel; c < call.channels; ++c) {
      T acc = call.bias != nullptr ? static_cast<const T*>(call.bias)[c] : T{0};
      for (i64 t = 0; t < call.taps; ++t) {
        acc += source[call.source_offset[t] + c * call.source_spacing] * w[call.w_offset[t] + c];
      }
      result[c * call.result_spacing] = acc;
    }
  }
}

template <class T, int kVectors>
[[gnu::always_inline]] inline void filter_block(const DepthwiseFilterCall& call, i64 channel) {
  constexpr i64 kLanes = Simd<T>::kLanes;
  const T* x = static_cast<const T*>(call.x) + channel;
  const T* y = static_cast<const T*>(call.y) + channel;
  T* const to = static_cast<T*>(call.acc) + channel;
  Vector<T> acc[kVectors];
  for (int v = 0; v < kVectors; ++v) acc[v] = load(to + v * kLanes);
  for (i64 i = 0; i < call.positions; ++i, x += call.x_step, y += call.y_step) {
    for (int v = 0; v < kVectors; ++v) acc[v] += load(x + v * kLanes) * load(y + v * kLanes);
  }
  for (int v = 0; v < kVectors; ++v) store(to + v * kLanes, acc[v]);
}

template <class T>
void depthwise_filter(const DepthwiseFilterCall& call) {
  constexpr i64 kLanes = Simd<T>::kLanes;
  i64 channel = 0;
  if (call.y_spacing == 1) {
    for (; channel + 4 * kLanes <= call.channels; channel += 4 * kLanes) filter_block<T, 4>(call, channel);
    for (; channel + kLanes <= call.channels; channel += kLanes) filter_block<T, 1>(call, channel);
  }
  const T* x = static_cast<const T*>(call.x);
  const T* y = static_cast<const T*>(call.y);
  T* const acc = static_cast<T*>(call.acc);
  for (i64 i = 0; i < call.positions; ++i, x += call.x_step, y += call.y_step) {
    for (i64 c = channel; c < call.channels; ++c) acc[c] += x[c] * y[c * call.y_spacing];
  }
}

template <class T>
constexpr ConvolutionLoop kLoop = {&copy<T>, &clear<T>, &add<T>, &depthwise<T>, &depthwise_filter<T>};
constexpr ConvolutionLoops kLoops = {kLoop<float>, kLoop<double>};

}  // namespace

namespace KUSARI_ISA {
const ConvolutionLoops* convolution_loops() { return &kLoops; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
