#include "kusari/framework/cpu/isa/recurrent.h"

#include "kusari/framework/cpu/isa/gemm_block.h"
#include "kusari/framework/cpu/isa/recurrent_block.h"

namespace kusari::cpu {
namespace {

// A panel is packed in parts of so many vectors.
template <class T>
constexpr i64 kPartColumns = kBlockVectors* Simd<T>::kLanes;

template <class T>
void pack(const GatePanel& panel, void* to) {
  constexpr i64 kLanes = Simd<T>::kLanes;
  static_assert(kUnits % kLanes == 0);
  const T* const w = static_cast<const T*>(panel.w);
  const i64 columns = panel.gates * panel.width;
  for (i64 part = 0; part < columns; part += kPartColumns<T>) {
    const i64 width = columns - part < kPartColumns<T> ? columns - part : kPartColumns<T>;
    T* const packed = static_cast<T*>(to) + part * panel.depth;
    for (i64 at = 0; at < width; at += kLanes) {
      const i64 gate = (part + at) / panel.width, unit = (part + at) % panel.width;
      const i64 count = panel.units - unit < 0 ? 0 : panel.units - unit;
      const T* const from = w + gate * panel.gate_step + (count > 0 ? unit : 0) * panel.unit_step;
      if (panel.depth_step == 1) {
        pack_transposed(from, panel.unit_step, panel.depth, count, packed + at, width);
      } else {
        pack_rows(from, panel.depth_step, panel.depth, count, packed + at, width);
      }
    }
  }
}

template <class T>
void multiply_panels(const void* a, i64 a_row, i64 rows, i64 depth, const void* packed, i64 columns, void* out) {
  Block<T> block = {depth, static_cast<const T*>(a), a_row, 1, nullptr, 0, nullptr, columns, 0, false, nullptr};
  for (i64 part = 0; part < columns; part += kPartColumns<T>) {
    const i64 left = columns - part;
    block.b = static_cast<const T*>(packed) + part * depth;
    block.c = static_cast<T*>(out) + part;
    block.columns = left;
    if (left >= kPartColumns<T>) {
      block.b_row = kPartColumns<T>;
      multiply_rows<T, kBlockVectors, true>(block, rows);
    } else {
      block.b_row = left;
      for (i64 at = 0; at < left; at += Simd<T>::kLanes) {
        multiply_rows<T, 1, true>(block, rows);
        block.b += Simd<T>::kLanes;
        block.c += Simd<T>::kLanes;
        block.columns -= Simd<T>::kLanes;
      }
    }
  }
}

template <class T>
constexpr RecurrentLoop recurrent_loop() {
  return {sizeof(T), &pack<T>, &multiply_panels<T>, recurrent_cells<T, T>()};
}
constexpr RecurrentLoops kLoops = {recurrent_loop<float>(), recurrent_loop<double>()};

}  // namespace

namespace KUSARI_ISA {
const RecurrentLoops* recurrent_loops() { return &kLoops; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
