#include "kusari/framework/cpu/isa/batch_normalization.h"

#include "kusari/framework/cpu/isa/half.h"

// Every channel is a sum of its own, in an order of rows that is the same for all widths of vectors. Several rows at a
// time keep what belongs to the channels in registers.
namespace kusari::cpu {
namespace {

KUSARI_INLINE float load(float x) { return x; }
KUSARI_INLINE double load(double x) { return x; }
KUSARI_INLINE float load(Brain x) { return km::float_from_bfloat16(x.bits); }
KUSARI_INLINE void store(float& to, float x) { to = x; }
KUSARI_INLINE void store(double& to, double x) { to = x; }
KUSARI_INLINE void store(Brain& to, float x) { to.bits = km::bfloat16_from_float(x); }

template <class T>
const T* in(const void* p) {
  return static_cast<const T*>(p);
}
template <class T>
T* out(void* p) {
  return static_cast<T*>(p);
}

/// body(0), .., body(kCount - 1), without a loop: vectors run across channels.
template <i64 kCount, class Body>
KUSARI_INLINE void repeat(const Body& body) {
  if constexpr (kCount > 1) repeat<kCount - 1>(body);
  body(kCount - 1);
}

/// The sum of value(0), .., value(kCount - 1), by halves.
template <class T, i64 kCount, class Value>
KUSARI_INLINE T sum_of(const Value& value, i64 first = 0) {
  if constexpr (kCount == 1) {
    return value(first);
  } else {
    return sum_of<T, kCount / 2>(value, first) + sum_of<T, kCount / 2>(value, first + kCount / 2);
  }
}

/// run<kRows>(block, r) for rows r, r + 1, ..; what remains is done by one.
template <i64 kRows, class Loop>
KUSARI_INLINE void by_rows(const BatchNormBlock& block) {
  i64 r = 0;
  for (; r + kRows <= block.rows; r += kRows) Loop::template run<kRows>(block, r);
  for (; r < block.rows; ++r) Loop::template run<1>(block, r);
}

/// What a loop reads and writes of the block's elements.
struct Uses {
  bool x = false, residual = false, y = false, gy = false, out = false, masked = false;
};

/// A loop over float for rows of float16, which go through buffers.
template <class Loop>
struct Widened {
  template <i64 kRows>
  KUSARI_INLINE static void run(const BatchNormBlock& b, i64 r) {
    constexpr i64 kWidth = 256, kSize = kRows * kWidth;
    const i64 n = b.channels;
    float x[kSize], residual[kSize], y[kSize], gy[kSize], result[kSize], masked[kSize];
    for (i64 c = 0; c < n; c += kWidth) {
      const i64 width = n - c < kWidth ? n - c : kWidth;
      const i64 runs = width == n ? 1 : kRows, length = kRows * width / runs;
      const auto read = [&](bool used, const void* given, float* buffer) {
        if (!used) return;
        for (i64 i = 0; i < runs; ++i) widen(in<Half>(given) + (r + i) * n + c, buffer + i * width, length);
      };
      const auto write = [&](bool used, const float* buffer, void* to) {
        if (!used) return;
        for (i64 i = 0; i < runs; ++i) narrow(buffer + i * width, out<Half>(to) + (r + i) * n + c, length);
      };
      const auto numbers = [c](const void* given) { return given == nullptr ? given : in<float>(given) + c; };
      const auto sums = [c](void* given) { return given == nullptr ? given : out<float>(given) + c; };
      read(Loop::kUses.x, b.x, x);
      read(Loop::kUses.residual, b.residual, residual);
      read(Loop::kUses.y, b.y, y);
      read(Loop::kUses.gy, b.gy, gy);
      Loop::template run<kRows>({.rows = kRows,
                                 .channels = width,
                                 .x = x,
                                 .residual = residual,
                                 .y = y,
                                 .gy = gy,
                                 .out = result,
                                 .masked = masked,
                                 .mean = numbers(b.mean),
                                 .scale = numbers(b.scale),
                                 .beta = numbers(b.beta),
                                 .offset = numbers(b.offset),
                                 .slope = numbers(b.slope),
                                 .shift = sums(b.shift),
                                 .sum = sums(b.sum),
                                 .square = sums(b.square)},
                                0);
      write(Loop::kUses.out, result, b.out);
      write(Loop::kUses.masked, masked, b.masked);
    }
  }
};

/// How loops see elements of the storage type S: Type, and Rows<Loop>, the loop over Type made one over S.
template <class S>
struct View {
  using Type = S;
  template <class Loop>
  using Rows = Loop;
};
template <>
struct View<Half> {
  using Type = float;
  template <class Loop>
  using Rows = Widened<Loop>;
};

template <class S, class T>
struct Moments {
  static constexpr Uses kUses = {.x = true};

  template <i64 kRows>
  KUSARI_INLINE static void run(const BatchNormBlock& b, i64 r) {
    const i64 n = b.channels;
    const S* const x = in<S>(b.x) + r * n;
    const T* const shift = in<T>(b.shift);
    T *const sum = out<T>(b.sum), *const square = out<T>(b.square);
#pragma omp simd
    for (i64 c = 0; c < n; ++c) {
      const T near = shift[c];
      sum[c] += sum_of<T, kRows>([&](i64 i) { return load(x[c + i * n]) - near; });
      square[c] += sum_of<T, kRows>([&](i64 i) {
        const T d = load(x[c + i * n]) - near;
        return d * d;
      });
    }
  }
};

/// shift[c] += the elements of one row.
template <class S, class T>
struct Add {
  static constexpr Uses kUses = {.x = true};

  template <i64 kRows>
  KUSARI_INLINE static void run(const BatchNormBlock& b, i64 r) {
    const S* const x = in<S>(b.x) + r * b.channels;
    T* const shift = out<T>(b.shift);
#pragma omp simd
    for (i64 c = 0; c < b.channels; ++c) shift[c] += load(x[c]);
  }
};

template <class S, class T>
void moments(const BatchNormBlock& b) {
  // The mean of a few rows: one element alone may be far from the others.
  const i64 n = b.channels, few = b.rows < 8 ? b.rows : 8;
  T *const shift = out<T>(b.shift), *const sum = out<T>(b.sum), *const square = out<T>(b.square);
#pragma omp simd
  for (i64 c = 0; c < n; ++c) {
    shift[c] = T(0);
    sum[c] = T(0);
    square[c] = T(0);
  }
  using From = View<S>;
  for (i64 r = 0; r < few; ++r) From::template Rows<Add<typename From::Type, T>>::template run<1>(b, r);
  const T share = T(1) / static_cast<T>(few);
#pragma omp simd
  for (i64 c = 0; c < n; ++c) shift[c] *= share;
  by_rows<8, typename From::template Rows<Moments<typename From::Type, T>>>(b);
}

template <class S, class T, bool kResidual, bool kRelu>
struct Apply {
  static constexpr Uses kUses = {.x = true, .residual = kResidual, .out = true};

  template <i64 kRows>
  KUSARI_INLINE static void run(const BatchNormBlock& b, i64 r) {
    const i64 n = b.channels;
    const S *const x = in<S>(b.x) + r * n, *const residual = kResidual ? in<S>(b.residual) + r * n : nullptr;
    const T *const mean = in<T>(b.mean), *const scale = in<T>(b.scale), *const beta = in<T>(b.beta);
    S* const y = out<S>(b.out) + r * n;
#pragma omp simd
    for (i64 c = 0; c < n; ++c) {
      const T m = mean[c], a = scale[c], shift = beta[c];
      repeat<kRows>([&](i64 i) {
        T value = (load(x[c + i * n]) - m) * a + shift;
        if constexpr (kResidual) value += load(residual[c + i * n]);
        if constexpr (kRelu) value = value < T(0) ? T(0) : value;  // NaN stays
        store(y[c + i * n], value);
      });
    }
  }
};

/// Compilers make a load of gy that waits for its mask, and so for x: fetched before, it waits for neither.
template <i64 kRows, class S>
KUSARI_INLINE void fetch_ahead(const S* gy, i64 n) {
  constexpr i64 kAhead = 2048, kLine = 64;  // bytes
  const char* const from = reinterpret_cast<const char*>(gy) + kAhead;
  const i64 bytes = kRows * n * static_cast<i64>(sizeof(S));
  for (i64 i = 0; i < bytes; i += kLine) __builtin_prefetch(from + i);
}

/// gy where the ReLU let pass, else 0.
template <BatchNormMask kMask, class S, class T>
KUSARI_INLINE T masked_gradient(S gy, T centred, T scale, T beta, S y) {
  const T g = load(gy);
  if constexpr (kMask == kMaskFromX) return centred * scale + beta > T(0) ? g : T(0);
  if constexpr (kMask == kMaskFromY) return load(y) > T(0) ? g : T(0);
  return g;
}

template <class S, class T, BatchNormMask kMask>
struct Sums {
  static constexpr Uses kUses = {.x = true, .y = kMask == kMaskFromY, .gy = true, .masked = kMask == kMaskFromY};

  template <i64 kRows>
  KUSARI_INLINE static void run(const BatchNormBlock& b, i64 r) {
    const i64 n = b.channels;
    const S *const x = in<S>(b.x) + r * n, *const gy = in<S>(b.gy) + r * n;
    const S* const y = kMask == kMaskFromY ? in<S>(b.y) + r * n : x;
    const T *const mean = in<T>(b.mean), *const scale = in<T>(b.scale), *const beta = in<T>(b.beta);
    S* const masked = kMask == kMaskFromY ? out<S>(b.masked) + r * n : nullptr;
    T *const sum = out<T>(b.sum), *const product = out<T>(b.square);
    if constexpr (kMask != kMaskNone) fetch_ahead<kRows>(gy, n);
#pragma omp simd
    for (i64 c = 0; c < n; ++c) {
      const T m = mean[c], a = kMask == kMaskFromX ? scale[c] : T(0), shift = kMask == kMaskFromX ? beta[c] : T(0);
      T g[kRows], centred[kRows];
      repeat<kRows>([&](i64 i) {
        const i64 at = c + i * n;
        centred[i] = load(x[at]) - m;
        g[i] = masked_gradient<kMask>(gy[at], centred[i], a, shift, y[at]);
        if constexpr (kMask == kMaskFromY) store(masked[at], g[i]);
      });
      sum[c] += sum_of<T, kRows>([&](i64 i) { return g[i]; });
      product[c] += sum_of<T, kRows>([&](i64 i) { return g[i] * centred[i]; });
    }
  }
};

/// More than one row of a result at a time is slower where loops write it themselves: every row is a stream of its own
/// to the memory.
template <class S>
constexpr i64 kRowsWritten = __is_same(S, Half) ? 4 : 1;

template <class S, class T, BatchNormMask kMask>
void sums(const BatchNormBlock& b) {
  T *const sum = out<T>(b.sum), *const product = out<T>(b.square);
#pragma omp simd
  for (i64 c = 0; c < b.channels; ++c) {
    sum[c] = T(0);
    product[c] = T(0);
  }
  using From = View<S>;
  constexpr bool kWrites = kMask == kMaskFromY;
  by_rows<kWrites ? kRowsWritten<S> : 4, typename From::template Rows<Sums<typename From::Type, T, kMask>>>(b);
}

template <class S, class T, BatchNormMask kMask, bool kFixed>
struct Gradient {
  static constexpr Uses kUses = {.x = !kFixed || kMask == kMaskFromX, .gy = true, .out = true};

  template <i64 kRows>
  KUSARI_INLINE static void run(const BatchNormBlock& b, i64 r) {
    const i64 n = b.channels;
    const S *const x = in<S>(b.x) + r * n, *const gy = in<S>(b.gy) + r * n;
    const T *const mean = in<T>(b.mean), *const scale = in<T>(b.scale), *const beta = in<T>(b.beta);
    const T *const offset = in<T>(b.offset), *const slope = in<T>(b.slope);
    S* const gx = out<S>(b.out) + r * n;
    if constexpr (kMask != kMaskNone) fetch_ahead<kRows>(gy, n);
#pragma omp simd
    for (i64 c = 0; c < n; ++c) {
      const T m = kUses.x ? mean[c] : T(0), a = scale[c], shift = kMask == kMaskFromX ? beta[c] : T(0);
      const T base = kFixed ? T(0) : offset[c], k = kFixed ? T(0) : slope[c];
      repeat<kRows>([&](i64 i) {
        const i64 at = c + i * n;
        const T centred = kUses.x ? load(x[at]) - m : T(0);
        const T g = masked_gradient<kMask>(gy[at], centred, a, shift, gy[at]);
        store(gx[at], kFixed ? a * g : a * ((g - base) - centred * k));
      });
    }
  }
};

template <class S, class Loop>
void write_rows(const BatchNormBlock& b) {
  by_rows<kRowsWritten<S>, typename View<S>::template Rows<Loop>>(b);
}

template <class T>
void add_means(const void* part, i64 rows, i64 n, double* mean) {
  const T *const shift = in<T>(part), *const sum = shift + n;
  const double count = static_cast<double>(rows);
#pragma omp simd
  for (i64 c = 0; c < n; ++c) mean[c] += count * static_cast<double>(shift[c]) + static_cast<double>(sum[c]);
}

template <class T>
void add_deviations(const void* part, i64 rows, i64 n, const double* mean, double* deviations) {
  const T *const shift = in<T>(part), *const sum = shift + n, *const square = sum + n;
  const double count = static_cast<double>(rows), share = 1 / count;
#pragma omp simd
  for (i64 c = 0; c < n; ++c) {
    const double of_piece = static_cast<double>(sum[c]) * share;  // its mean, relative to the shift
    const double between = static_cast<double>(shift[c]) + of_piece - mean[c];
    const double within = static_cast<double>(square[c]) - count * of_piece * of_piece;
    deviations[c] += (within < 0 ? 0 : within) + count * between * between;  // a NaN stays
  }
}

template <class T>
void add_sums(const void* part, i64 n, double* sum, double* product) {
  const T *const s = in<T>(part), *const p = s + n;
#pragma omp simd
  for (i64 c = 0; c < n; ++c) {
    sum[c] += static_cast<double>(s[c]);
    product[c] += static_cast<double>(p[c]);
  }
}

template <class T>
void inverse_deviations(const double* deviations, double count, double eps, void* inv_std, i64 n) {
  T* const to = out<T>(inv_std);
#pragma omp simd
  for (i64 c = 0; c < n; ++c) to[c] = static_cast<T>(1 / __builtin_sqrt(deviations[c] / count + eps));
}

template <class S, class T>
constexpr BatchNormLoops loops_of() {
  using V = typename View<S>::Type;
  return {&moments<S, T>,
          {{&write_rows<S, Apply<V, T, false, false>>, &write_rows<S, Apply<V, T, false, true>>},
           {&write_rows<S, Apply<V, T, true, false>>, &write_rows<S, Apply<V, T, true, true>>}},
          {&sums<S, T, kMaskNone>, &sums<S, T, kMaskFromX>, &sums<S, T, kMaskFromY>},
          {&write_rows<S, Gradient<V, T, kMaskNone, false>>, &write_rows<S, Gradient<V, T, kMaskFromX, false>>},
          {&write_rows<S, Gradient<V, T, kMaskNone, true>>, &write_rows<S, Gradient<V, T, kMaskFromX, true>>},
          {&add_means<T>, &add_deviations<T>, &add_sums<T>, &inverse_deviations<T>}};
}
constexpr BatchNormTable kTable = {loops_of<Half, float>(), loops_of<Brain, float>(), loops_of<float, float>(),
                                   loops_of<double, double>()};

}  // namespace

namespace KUSARI_ISA {
const BatchNormTable* batch_norm_loops() { return &kTable; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
