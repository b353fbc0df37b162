#include "kusari/framework/cpu/isa/half.h"
#include "kusari/framework/cpu/isa/loops.h"

namespace kusari::cpu {
namespace {

struct Bool {
  unsigned char value;
};
/// Widens a half to float and a bool to int; every other type stays.
template <class T>
T load(T x) {
  return x;
}
int load(Bool x) { return x.value != 0 ? 1 : 0; }
float load(Half x) { return quiet_float_from_half(x.bits); }
float load(Brain x) { return km::float_from_bfloat16(x.bits); }

template <class To, class From>
To store(From x) {
  if constexpr (sizeof(To) == 1 && From(0.5) != From(0)) {
    return static_cast<To>(static_cast<int>(x));  // what lies outside the small type wraps
  } else {
    return static_cast<To>(x);
  }
}

template <class From, class To>
void convert(const void* in, void* out, i64 n) {
  const From* const x = static_cast<const From*>(in);
  To* const y = static_cast<To*>(out);
  if constexpr (__is_same(From, Half) && __is_same(To, float)) return widen(x, y, n);
  if constexpr (__is_same(From, float) && __is_same(To, Half)) return narrow(x, y, n);
#pragma omp simd
  for (i64 i = 0; i < n; ++i) {
    const auto value = load(x[i]);
    if constexpr (__is_same(To, Bool)) {
      y[i].value = value != 0 ? 1 : 0;
    } else if constexpr (__is_same(To, Half)) {
      y[i].bits = km::half_from_float(static_cast<float>(value));
    } else if constexpr (__is_same(To, Brain)) {
      y[i].bits = km::bfloat16_from_float(static_cast<float>(value));
    } else {
      y[i] = store<To>(value);
    }
  }
}

#define KUSARI_CONVERT_ROW(From)                                                                           \
  {                                                                                                        \
    &convert<From, Bool>, &convert<From, unsigned char>, &convert<From, signed char>, &convert<From, int>, \
        &convert<From, i64>, &convert<From, Half>, &convert<From, Brain>, &convert<From, float>,           \
        &convert<From, double>                                                                             \
  }
constexpr ConvertLoops kLoops = {{
    KUSARI_CONVERT_ROW(Bool),
    KUSARI_CONVERT_ROW(unsigned char),
    KUSARI_CONVERT_ROW(signed char),
    KUSARI_CONVERT_ROW(int),
    KUSARI_CONVERT_ROW(i64),
    KUSARI_CONVERT_ROW(Half),
    KUSARI_CONVERT_ROW(Brain),
    KUSARI_CONVERT_ROW(float),
    KUSARI_CONVERT_ROW(double),
}};

}  // namespace

namespace KUSARI_ISA {
const ConvertLoops* convert_loops() { return &kLoops; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
