#include "kusari/framework/cpu/isa/convolution.h"

#include "kusari/framework/cpu/isa/simd.h"

namespace kusari::cpu {
namespace {

/// Calls body(at, vector type) for pieces of n elements, large ones first: a compiler makes a loop over the last few
/// that costs more than they do.
template <class T, class Body>
[[gnu::always_inline]] inline void in_pieces(i64 n, const Body& body) {
  constexpr i64 kLanes = Simd<T>::kLanes, kFew = 16 / static_cast<i64>(sizeof(T));
  typedef T Few __attribute__((vector_size(16), aligned(sizeof(T)), may_alias));
  i64 i = 0;
  for (; i + kLanes <= n; i += kLanes) body(i, typename Simd<T>::Unaligned{});
  if constexpr (kFew < kLanes) {
    for (; i + kFew <= n; i += kFew) body(i, Few{});
  }
  if constexpr (kFew > 4) {
    typedef T Four __attribute__((vector_size(4 * sizeof(T)), aligned(sizeof(T)), may_alias));
    if ((n - i) & 4) {
      body(i, Four{});
      i += 4;
    }
  }
  if constexpr (kFew > 2) {
    if ((n - i) & 2) {
      body(i, T{});
      body(i + 1, T{});
      i += 2;
    }
  }
  if (i < n) body(i, T{});
}

template <class T>
void copy(const void* from, i64 from_step, void* to, i64 to_step, i64 rows, i64 n) {
  const T* source = static_cast<const T*>(from);
  T* target = static_cast<T*>(to);
  for (i64 row = 0; row < rows; ++row, source += from_step, target += to_step) {
    in_pieces<T>(n, [&]<class Piece>(i64 i, Piece) {
      *reinterpret_cast<Piece*>(target + i) = *reinterpret_cast<const Piece*>(source + i);
    });
  }
}

template <class T>
void clear(void* to, i64 to_step, i64 rows, i64 n) {
  T* target = static_cast<T*>(to);
  for (i64 row = 0; row < rows; ++row, target += to_step) {
    in_pieces<T>(n, [&]<class Piece>(i64 i, Piece) { *reinterpret_cast<Piece*>(target + i) = Piece{}; });
  }
}

template <class T>
void add(const void* from, i64 from_step, void* to, i64 to_step, i64 rows, i64 n) {
  const T* const source = static_cast<const T*>(from);
  T* const target = static_cast<T*>(to);
  // Rows that overlap are not added one after the other: reading what was just written elsewhere is slow.
  const i64 apart = to_step > 0 && to_step < n ? (n + to_step - 1) / to_step : 1;
  for (i64 first = 0; first < apart; ++first) {
    for (i64 row = first; row < rows; row += apart) {
      const T* const x = source + row * from_step;
      T* const y = target + row * to_step;
      in_pieces<T>(n, [&]<class Piece>(i64 i, Piece) {
        *reinterpret_cast<Piece*>(y + i) += *reinterpret_cast<const Piece*>(x + i);
      });
    }
  }
}

template <class T, bool kRelu>
void finish_as(const T* z, T* y, i64 n) {
  const auto cut = [](T x) { return kRelu && x < T(0) ? T(0) : x; };
  if (z == nullptr) {
#pragma omp simd
    for (i64 i = 0; i < n; ++i) y[i] = cut(y[i]);
  } else {
#pragma omp simd
    for (i64 i = 0; i < n; ++i) y[i] = cut(y[i] + z[i]);
  }
}
template <class T, bool kRelu>
void finish_with_bias(const T* bias, const T* z, T* y, i64 n) {
  const auto cut = [](T x) { return kRelu && x < T(0) ? T(0) : x; };
  if (z == nullptr) {
#pragma omp simd
    for (i64 c = 0; c < n; ++c) y[c] = cut(y[c] + bias[c]);
  } else {
#pragma omp simd
    for (i64 c = 0; c < n; ++c) y[c] = cut(y[c] + bias[c] + z[c]);
  }
}

template <class T>
void finish(const void* bias, const void* z, bool relu, void* y, i64 n, i64 channels) {
  const T* const numbers = static_cast<const T*>(bias);
  const T* addend = static_cast<const T*>(z);
  T* result = static_cast<T*>(y);
  if (numbers == nullptr) {
    return (relu ? finish_as<T, true> : finish_as<T, false>)(addend, result, n * channels);
  }
  const auto finish_position = relu ? finish_with_bias<T, true> : finish_with_bias<T, false>;
  for (i64 i = 0; i < n; ++i, result += channels) {
    finish_position(numbers, addend, result, channels);
    if (addend != nullptr) addend += channels;
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
constexpr ConvolutionLoop kLoop = {&copy<T>, &clear<T>, &add<T>, &finish<T>, &depthwise<T>, &depthwise_filter<T>};
constexpr ConvolutionLoops kLoops = {kLoop<float>, kLoop<double>, &copy<unsigned short>, &clear<unsigned short>};

}  // namespace

namespace KUSARI_ISA {
const ConvolutionLoops* convolution_loops() { return &kLoops; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
