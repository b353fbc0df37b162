#include "kusari/framework/cpu/isa/rotary_embedding.h"

namespace kusari::cpu {
namespace {

template <class T, bool kNeighbours>
void turn_pairs(const void* in, const void* cosines, const void* sines, double row_sign, void* out, i64 half) {
  const T *const x = static_cast<const T*>(in), *const cosine = static_cast<const T*>(cosines);
  const T *const sine = static_cast<const T*>(sines), sign = static_cast<T>(row_sign);
  T* const y = static_cast<T*>(out);
#pragma omp simd
  for (i64 i = 0; i < half; ++i) {
    const i64 first = kNeighbours ? 2 * i : i, second = kNeighbours ? 2 * i + 1 : i + half;
    const T a = x[first], b = x[second], c = cosine[i], s = sign * sine[i];
    y[first] = a * c - b * s;
    y[second] = a * s + b * c;
  }
}

constexpr RotaryLoops kTable = {&turn_pairs<float, false>, &turn_pairs<double, false>, &turn_pairs<float, true>,
                                &turn_pairs<double, true>};

}  // namespace

namespace KUSARI_ISA {
const RotaryLoops* rotary_loops() { return &kTable; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
