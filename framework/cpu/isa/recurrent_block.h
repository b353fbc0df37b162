#pragma once

#include "kusari/framework/cpu/isa/half.h"
#include "kusari/framework/cpu/isa/recurrent.h"
#include "kusari/framework/kernels/math.h"

// The cells of recurrent layers. Included only by the sources beside it, each of which has its own copy.
namespace kusari::cpu {
namespace {

enum Cell { kTanh, kRelu, kLstm, kGru };

// Numbers as they are computed with: those of 16 bits are widened into `room`.
template <class T, class S>
[[gnu::always_inline]] inline const T* widened(const void* row, i64 offset, i64 n, T* room) {
  const S* const from = static_cast<const S*>(row) + offset;
  if constexpr (sizeof(S) == sizeof(T)) {
    return from;
  } else {
    if (n == kUnits) {
      widen_lanes<kUnits>(from, room);
    } else {
      widen(from, room, n);
    }
    return room;
  }
}
template <class S, class T>
[[gnu::always_inline]] inline void store_row(const T* from, void* row, i64 offset, i64 n) {
  S* const to = static_cast<S*>(row) + offset;
  if constexpr (sizeof(S) == sizeof(T)) {
    for (i64 j = 0; j < n; ++j) to[j] = from[j];
  } else if (n == kUnits) {
    narrow_lanes<kUnits>(from, to);
  } else {
    narrow(from, to, n);
  }
}

// One row; n is kUnits but in the last panel. T: of states, products and biases; S: of all else.
template <class T, class S, Cell kCell>
[[gnu::always_inline]] inline void forward_row(const CellRows& c, i64 r, i64 n) {
  constexpr i64 kGates = kCell == kLstm ? 4 : kCell == kGru ? 3 : 1;
  const i64 hidden = c.hidden, gate = c.product_gate;
  const T* const u = static_cast<const T*>(c.product) + r * c.product_row;
  T room[4][kUnits];
  const T* x[kGates];
  for (int k = 0; k < kGates; ++k) x[k] = widened<T, S>(c.x, (r * kGates + k) * hidden, n, room[k]);
  const T* const b = static_cast<const T*>(c.b);
  T* const last_h = static_cast<T*>(c.last_h) + r * hidden;
  T value[kUnits];
  if constexpr (kCell == kLstm) {
    T* const last_c = static_cast<T*>(c.last_c) + r * hidden;
    T gates[4][kUnits], cell[kUnits];
#pragma omp simd
    for (i64 j = 0; j < n; ++j) {
      const T i = km::sigmoid(x[0][j] + (u[j] + b[j]));
      const T f = km::sigmoid(x[1][j] + (u[gate + j] + b[hidden + j]));
      const T a = km::tanh(x[2][j] + (u[2 * gate + j] + b[2 * hidden + j]));
      const T o = km::sigmoid(x[3][j] + (u[3 * gate + j] + b[3 * hidden + j]));
      cell[j] = f * last_c[j] + i * a;
      value[j] = o * km::tanh(cell[j]);
      gates[0][j] = i;
      gates[1][j] = f;
      gates[2][j] = a;
      gates[3][j] = o;
    }
    for (i64 j = 0; j < n; ++j) last_c[j] = cell[j];
    if (c.saved != nullptr) {
      for (int k = 0; k < 4; ++k) store_row<S>(gates[k], c.saved, (r * 4 + k) * hidden, n);
      store_row<S>(cell, c.cells, r * hidden, n);
    }
  } else if constexpr (kCell == kGru) {
    const T* const h = static_cast<const T*>(c.h) + r * hidden;
    T gates[4][kUnits];
#pragma omp simd
    for (i64 j = 0; j < n; ++j) {
      const T reset = km::sigmoid(x[0][j] + (u[j] + b[j]));
      const T z = km::sigmoid(x[1][j] + (u[gate + j] + b[hidden + j]));
      const T inner = u[2 * gate + j] + b[2 * hidden + j];
      const T fresh = km::tanh(x[2][j] + reset * inner);
      value[j] = (1 - z) * fresh + z * h[j];
      gates[0][j] = reset;
      gates[1][j] = z;
      gates[2][j] = fresh;
      gates[3][j] = inner;
    }
    if (c.saved != nullptr) {
      for (int k = 0; k < 4; ++k) store_row<S>(gates[k], c.saved, (r * 4 + k) * hidden, n);
    }
  } else {
#pragma omp simd
    for (i64 j = 0; j < n; ++j) {
      const T sum = x[0][j] + (u[j] + b[j]);
      value[j] = kCell == kTanh ? km::tanh(sum) : sum < 0 ? T(0) : sum;
    }
  }
  store_row<S>(value, c.y, r * hidden, n);
  for (i64 j = 0; j < n; ++j) last_h[j] = value[j];
  if (r < c.next_rows) {
    T* const next = static_cast<T*>(c.next) + r * hidden;
    for (i64 j = 0; j < n; ++j) next[j] = value[j];
  }
}

template <class T, class S, Cell kCell>
void forward(const CellRows& c) {
  if (c.units == kUnits) {
    for (i64 r = 0; r < c.rows; ++r) forward_row<T, S, kCell>(c, r, kUnits);
  } else {
    for (i64 r = 0; r < c.rows; ++r) forward_row<T, S, kCell>(c, r, c.units);
  }
}

template <class T, class S, Cell kCell>
[[gnu::always_inline]] inline void backward_row(const CellGradientRows& c, i64 r, i64 n) {
  const i64 hidden = c.hidden;
  T* const gh = static_cast<T*>(c.gh) + r * hidden;
  T room[6][kUnits];
  T g[kUnits];  // of h, from everywhere
  for (i64 j = 0; j < n; ++j) g[j] = gh[j];
  if (c.gy != nullptr) {
    const T* const gy = widened<T, S>(c.gy, r * hidden, n, room[0]);
    for (i64 j = 0; j < n; ++j) g[j] += gy[j];
  }
  if constexpr (kCell == kLstm) {
    T* const gc = static_cast<T*>(c.gc) + r * hidden;
    const T* saved[4];
    for (int k = 0; k < 4; ++k) saved[k] = widened<T, S>(c.saved, (r * 4 + k) * hidden, n, room[k]);
    const T* const cells = widened<T, S>(c.cells, r * hidden, n, room[4]);
    const T* const last = widened<T, S>(r < c.last_rows ? c.last_cells : c.first_cells, r * hidden, n, room[5]);
    T out[4][kUnits], carried[kUnits];
#pragma omp simd
    for (i64 j = 0; j < n; ++j) {
      const T i = saved[0][j], f = saved[1][j], a = saved[2][j], o = saved[3][j];
      const T t = km::tanh(cells[j]);
      const T gcell = gc[j] + g[j] * o * (1 - t * t);
      out[0][j] = gcell * a * i * (1 - i);
      out[1][j] = gcell * last[j] * f * (1 - f);
      out[2][j] = gcell * i * (1 - a * a);
      out[3][j] = g[j] * t * o * (1 - o);
      carried[j] = gcell * f;
    }
    for (int k = 0; k < 4; ++k) store_row<S>(out[k], c.gx, (r * 4 + k) * hidden, n);
    for (i64 j = 0; j < n; ++j) gc[j] = carried[j];
    for (i64 j = 0; j < n; ++j) gh[j] = 0;
  } else if constexpr (kCell == kGru) {
    const T* saved[4];
    for (int k = 0; k < 4; ++k) saved[k] = widened<T, S>(c.saved, (r * 4 + k) * hidden, n, room[k]);
    const T* const before = widened<T, S>(c.before, r * hidden, n, room[4]);
    T out[4][kUnits], carried[kUnits];
#pragma omp simd
    for (i64 j = 0; j < n; ++j) {
      const T reset = saved[0][j], z = saved[1][j], fresh = saved[2][j], inner = saved[3][j];
      const T gfresh = g[j] * (1 - z) * (1 - fresh * fresh);
      out[0][j] = gfresh * inner * reset * (1 - reset);
      out[1][j] = g[j] * (before[j] - fresh) * z * (1 - z);
      out[2][j] = gfresh;
      out[3][j] = gfresh * reset;
      carried[j] = g[j] * z;
    }
    for (int k = 0; k < 3; ++k) {
      store_row<S>(out[k], c.gx, (r * 3 + k) * hidden, n);
      store_row<S>(out[k == 2 ? 3 : k], c.gu, (r * 3 + k) * hidden, n);
    }
    for (i64 j = 0; j < n; ++j) gh[j] = carried[j];
  } else {
    const T* const y = widened<T, S>(c.y, r * hidden, n, room[0]);
    T out[kUnits];
#pragma omp simd
    for (i64 j = 0; j < n; ++j) out[j] = kCell == kTanh ? g[j] * (1 - y[j] * y[j]) : y[j] > 0 ? g[j] : T(0);
    store_row<S>(out, c.gx, r * hidden, n);
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

template <class T, class S, Cell kCell>
void backward(const CellGradientRows& c) {
  if (c.product != nullptr) add_product<T>(c);
  if (c.units == kUnits) {
    for (i64 r = 0; r < c.rows; ++r) backward_row<T, S, kCell>(c, r, kUnits);
  } else {
    for (i64 r = 0; r < c.rows; ++r) backward_row<T, S, kCell>(c, r, c.units);
  }
}

template <class T, class S>
constexpr RecurrentCells recurrent_cells() {
  return {{&forward<T, S, kTanh>, &forward<T, S, kRelu>, &forward<T, S, kLstm>, &forward<T, S, kGru>},
          {&backward<T, S, kTanh>, &backward<T, S, kRelu>, &backward<T, S, kLstm>, &backward<T, S, kGru>}};
}

}  // namespace
}  // namespace kusari::cpu
