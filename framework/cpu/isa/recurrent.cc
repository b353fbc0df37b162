#include "kusari/framework/cpu/isa/recurrent.h"

#include "kusari/framework/cpu/isa/gemm_block.h"
#include "kusari/framework/kernels/math.h"

namespace kusari::cpu {
namespace {

enum Cell { kTanh, kRelu, kLstm, kGru };

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

// One row; n is kUnits but in the last panel.
template <class T, Cell kCell>
[[gnu::always_inline]] inline void forward_row(const CellRows& c, i64 r, i64 n) {
  constexpr i64 kGates = kCell == kLstm ? 4 : kCell == kGru ? 3 : 1;
  const i64 hidden = c.hidden, gate = c.product_gate;
  const T* const u = static_cast<const T*>(c.product) + r * c.product_row;
  const T* const x = static_cast<const T*>(c.x) + r * kGates * hidden;
  const T* const b = static_cast<const T*>(c.b);
  T* const y = static_cast<T*>(c.y) + r * hidden;
  T* const last_h = static_cast<T*>(c.last_h) + r * hidden;
  T value[kUnits];
  if constexpr (kCell == kLstm) {
    T* const last_c = static_cast<T*>(c.last_c) + r * hidden;
    T gates[4][kUnits], cell[kUnits];
#pragma omp simd
    for (i64 j = 0; j < n; ++j) {
      const T i = km::sigmoid(x[j] + (u[j] + b[j]));
      const T f = km::sigmoid(x[hidden + j] + (u[gate + j] + b[hidden + j]));
      const T a = km::tanh(x[2 * hidden + j] + (u[2 * gate + j] + b[2 * hidden + j]));
      const T o = km::sigmoid(x[3 * hidden + j] + (u[3 * gate + j] + b[3 * hidden + j]));
      cell[j] = f * last_c[j] + i * a;
      value[j] = o * km::tanh(cell[j]);
      gates[0][j] = i;
      gates[1][j] = f;
      gates[2][j] = a;
      gates[3][j] = o;
    }
    for (i64 j = 0; j < n; ++j) last_c[j] = cell[j];
    if (c.saved != nullptr) {
      T* const saved = static_cast<T*>(c.saved) + r * 4 * hidden;
      T* const cells = static_cast<T*>(c.cells) + r * hidden;
      for (int k = 0; k < 4; ++k) {
        for (i64 j = 0; j < n; ++j) saved[k * hidden + j] = gates[k][j];
      }
      for (i64 j = 0; j < n; ++j) cells[j] = cell[j];
    }
  } else if constexpr (kCell == kGru) {
    const T* const h = static_cast<const T*>(c.h) + r * hidden;
    T gates[4][kUnits];
#pragma omp simd
    for (i64 j = 0; j < n; ++j) {
      const T reset = km::sigmoid(x[j] + (u[j] + b[j]));
      const T z = km::sigmoid(x[hidden + j] + (u[gate + j] + b[hidden + j]));
      const T inner = u[2 * gate + j] + b[2 * hidden + j];
      const T fresh = km::tanh(x[2 * hidden + j] + reset * inner);
      value[j] = (1 - z) * fresh + z * h[j];
      gates[0][j] = reset;
      gates[1][j] = z;
      gates[2][j] = fresh;
      gates[3][j] = inner;
    }
    if (c.saved != nullptr) {
      T* const saved = static_cast<T*>(c.saved) + r * 4 * hidden;
      for (int k = 0; k < 4; ++k) {
        for (i64 j = 0; j < n; ++j) saved[k * hidden + j] = gates[k][j];
      }
    }
  } else {
#pragma omp simd
    for (i64 j = 0; j < n; ++j) {
      const T sum = x[j] + (u[j] + b[j]);
      value[j] = kCell == kTanh ? km::tanh(sum) : sum < 0 ? T(0) : sum;
    }
  }
  for (i64 j = 0; j < n; ++j) y[j] = value[j];
  for (i64 j = 0; j < n; ++j) last_h[j] = value[j];
  if (r < c.next_rows) {
    T* const next = static_cast<T*>(c.next) + r * hidden;
    for (i64 j = 0; j < n; ++j) next[j] = value[j];
  }
}

template <class T, Cell kCell>
void forward(const CellRows& c) {
  if (c.units == kUnits) {
    for (i64 r = 0; r < c.rows; ++r) forward_row<T, kCell>(c, r, kUnits);
  } else {
    for (i64 r = 0; r < c.rows; ++r) forward_row<T, kCell>(c, r, c.units);
  }
}

template <class T, Cell kCell>
[[gnu::always_inline]] inline void backward_row(const CellGradientRows& c, i64 r, i64 n) {
  constexpr i64 kGates = kCell == kLstm ? 4 : kCell == kGru ? 3 : 1;
  const i64 hidden = c.hidden;
  T* const gh = static_cast<T*>(c.gh) + r * hidden;
  T* const gx = static_cast<T*>(c.gx) + r * kGates * hidden;
  T g[kUnits];  // of h, from everywhere
  for (i64 j = 0; j < n; ++j) g[j] = gh[j];
  if (c.gy != nullptr) {
    const T* const gy = static_cast<const T*>(c.gy) + r * hidden;
    for (i64 j = 0; j < n; ++j) g[j] += gy[j];
  }
  if constexpr (kCell == kLstm) {
    T* const gc = static_cast<T*>(c.gc) + r * hidden;
    const T* const saved = static_cast<const T*>(c.saved) + r * 4 * hidden;
    const T* const cells = static_cast<const T*>(c.cells) + r * hidden;
    const T* const last = static_cast<const T*>(r < c.last_rows ? c.last_cells : c.first_cells) + r * hidden;
    T out[4][kUnits], carried[kUnits];
#pragma omp simd
    for (i64 j = 0; j < n; ++j) {
      const T i = saved[j], f = saved[hidden + j], a = saved[2 * hidden + j], o = saved[3 * hidden + j];
      const T t = km::tanh(cells[j]);
      const T gcell = gc[j] + g[j] * o * (1 - t * t);
      out[0][j] = gcell * a * i * (1 - i);
      out[1][j] = gcell * last[j] * f * (1 - f);
      out[2][j] = gcell * i * (1 - a * a);
      out[3][j] = g[j] * t * o * (1 - o);
      carried[j] = gcell * f;
    }
    for (int k = 0; k < 4; ++k) {
      for (i64 j = 0; j < n; ++j) gx[k * hidden + j] = out[k][j];
    }
    for (i64 j = 0; j < n; ++j) gc[j] = carried[j];
    for (i64 j = 0; j < n; ++j) gh[j] = 0;
  } else if constexpr (kCell == kGru) {
    T* const gu = static_cast<T*>(c.gu) + r * 3 * hidden;
    const T* const saved = static_cast<const T*>(c.saved) + r * 4 * hidden;
    const T* const before = static_cast<const T*>(c.before) + r * hidden;
    T out[4][kUnits], carried[kUnits];
#pragma omp simd
    for (i64 j = 0; j < n; ++j) {
      const T reset = saved[j], z = saved[hidden + j], fresh = saved[2 * hidden + j], inner = saved[3 * hidden + j];
      const T gfresh = g[j] * (1 - z) * (1 - fresh * fresh);
      out[0][j] = gfresh * inner * reset * (1 - reset);
      out[1][j] = g[j] * (before[j] - fresh) * z * (1 - z);
      out[2][j] = gfresh;
      out[3][j] = gfresh * reset;
      carried[j] = g[j] * z;
    }
    for (int k = 0; k < 3; ++k) {
      for (i64 j = 0; j < n; ++j) gx[k * hidden + j] = out[k][j];
      for (i64 j = 0; j < n; ++j) gu[k * hidden + j] = out[k == 2 ? 3 : k][j];
    }
    for (i64 j = 0; j < n; ++j) gh[j] = carried[j];
  } else {
    const T* const y = static_cast<const T*>(c.y) + r * hidden;
#pragma omp simd
    for (i64 j = 0; j < n; ++j) gx[j] = kCell == kTanh ? g[j] * (1 - y[j] * y[j]) : y[j] > 0 ? g[j] : T(0);
    for (i64 j = 0; j < n; ++j) gh[j] = 0;
  }
}

template <class T>
void add_product(const CellGradientRows& c) {
  for (i64 r = 0; r < c.product_rows; ++r) {
    T* const gh = static_cast<T*>(c.gh) + r * c.hidden;
    const T* const product = static_cast<const T*>(c.product) + r * c.product_row;
#pragma omp simd
    for (i64 j = 0; j < c.units; ++j) gh[j] += product[j];
  }
}

template <class T, Cell kCell>
void backward(const CellGradientRows& c) {
  if (c.product != nullptr) add_product<T>(c);
  if (c.units == kUnits) {
    for (i64 r = 0; r < c.rows; ++r) backward_row<T, kCell>(c, r, kUnits);
  } else {
    for (i64 r = 0; r < c.rows; ++r) backward_row<T, kCell>(c, r, c.units);
  }
}

template <class T>
constexpr RecurrentLoop recurrent_loop() {
  return {sizeof(T),
          &pack<T>,
          &multiply_panels<T>,
          {&forward<T, kTanh>, &forward<T, kRelu>, &forward<T, kLstm>, &forward<T, kGru>},
          {&backward<T, kTanh>, &backward<T, kRelu>, &backward<T, kLstm>, &backward<T, kGru>}};
}
constexpr RecurrentLoops kLoops = {recurrent_loop<float>(), recurrent_loop<double>()};

}  // namespace

namespace KUSARI_ISA {
const RecurrentLoops* recurrent_loops() { return &kLoops; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
