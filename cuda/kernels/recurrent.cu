#include "kusari/framework/kernels/recurrent.h"

#include <algorithm>
#include <vector>

#include "kusari/cuda/kernels/element.cuh"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/libraries/matmul.h"
#include "kusari/cuda/runtime/register.h"
#include "kusari/cuda/runtime/typed_array.h"
#include "kusari/framework/kernels/math_functions.h"

// At each time a product of matrices through the library and one kernel for what a unit does. States are float32 for
// the half types, and rounded to them as factors of products.
namespace kusari::cuda {
namespace {

using kernels::RecurrentCell;
using kernels::RecurrentLayer;

constexpr int kUnitBlock = 256;

/// The times of packed rows in the order of their computation.
struct PackedTime {
  int64_t first, rows;  // of the packed rows
};
std::vector<PackedTime> times_of(const Array& batch_sizes, bool is_reversed) {
  const int64_t* const rows = batch_sizes.data<int64_t>();
  std::vector<PackedTime> times;
  int64_t first = 0;
  for (int64_t t = 0; t < batch_sizes.size(); first += rows[t++]) times.push_back({first, rows[t]});
  if (is_reversed) std::reverse(times.begin(), times.end());
  return times;
}

/// What a time reads and writes; packed arrays from its first row on.
template <class T>
struct CellCall {
  using C = Compute<T>;
  RecurrentCell cell;
  int64_t rows, units;
  const T* x;
  const C* product;
  const T* b;
  C *state_h, *state_c;
  T* factor;  // the state once more, where it is not of T itself
  T *y, *saved, *cells, *before;
};

template <class T>
__global__ void __launch_bounds__(kUnitBlock) cell_forward(CellCall<T> call) {
  using C = Compute<T>;
  const int64_t at = int64_t{blockIdx.x} * kUnitBlock + threadIdx.x, units = call.units;
  if (at >= call.rows * units) return;
  const int64_t r = at / units, j = at - r * units;
  const int64_t gates = call.cell == RecurrentCell::lstm ? 4 : call.cell == RecurrentCell::gru ? 3 : 1;
  const T* const x = call.x + r * gates * units + j;
  const C* const u = call.product + r * gates * units + j;
  const auto from_x = [&](int64_t gate) { return static_cast<C>(widen(x[gate * units])); };
  const auto from_h = [&](int64_t gate) { return u[gate * units] + static_cast<C>(widen(call.b[gate * units + j])); };
  const C h = call.state_h[at];
  if (call.before != nullptr) call.before[at] = narrow<T>(h);
  C saved[4] = {}, value;
  switch (call.cell) {
    case RecurrentCell::lstm: {
      const C i = km::sigmoid(from_x(0) + from_h(0)), f = km::sigmoid(from_x(1) + from_h(1));
      const C a = km::tanh(from_x(2) + from_h(2)), o = km::sigmoid(from_x(3) + from_h(3));
      const C c = f * call.state_c[at] + i * a;
      value = o * km::tanh(c);
      call.state_c[at] = c;
      if (call.cells != nullptr) call.cells[at] = narrow<T>(c);
      saved[0] = i;
      saved[1] = f;
      saved[2] = a;
      saved[3] = o;
      break;
    }
    case RecurrentCell::gru: {
      const C reset = km::sigmoid(from_x(0) + from_h(0)), z = km::sigmoid(from_x(1) + from_h(1));
      const C inner = from_h(2), fresh = km::tanh(from_x(2) + reset * inner);
      value = (C(1) - z) * fresh + z * h;
      saved[0] = reset;
      saved[1] = z;
      saved[2] = fresh;
      saved[3] = inner;
      break;
    }
    case RecurrentCell::tanh:
      value = km::tanh(from_x(0) + from_h(0));
      break;
    default: {
      const C sum = from_x(0) + from_h(0);
      value = sum < 0 ? C(0) : sum;
    }
  }
  if (call.saved != nullptr) {
#pragma unroll
    for (int k = 0; k < 4; ++k) call.saved[(r * 4 + k) * units + j] = narrow<T>(saved[k]);
  }
  call.y[at] = narrow<T>(value);
  call.state_h[at] = value;
  if (call.factor != nullptr) call.factor[at] = narrow<T>(value);
}

template <class T>
struct CellGradientCall {
  using C = Compute<T>;
  RecurrentCell cell;
  int64_t rows, units;
  const T *gy, *y, *saved, *cells, *before;
  const T *last_cells, *first_cells;  // of the time before, and of rows that begin here
  int64_t last_rows;
  T *gx, *gu;
  C *gh, *gc;
};

template <class T>
__global__ void __launch_bounds__(kUnitBlock) cell_gradient(CellGradientCall<T> call) {
  using C = Compute<T>;
  const int64_t at = int64_t{blockIdx.x} * kUnitBlock + threadIdx.x, units = call.units;
  if (at >= call.rows * units) return;
  const int64_t r = at / units, j = at - r * units;
  const auto saved = [&](int64_t k) { return static_cast<C>(widen(call.saved[(r * 4 + k) * units + j])); };
  C g = call.gh[at];  // of h, from everywhere
  if (call.gy != nullptr) g += static_cast<C>(widen(call.gy[at]));
  switch (call.cell) {
    case RecurrentCell::lstm: {
      T* const gx = call.gx + r * 4 * units + j;
      const C i = saved(0), f = saved(1), a = saved(2), o = saved(3);
      const C t = km::tanh(static_cast<C>(widen(call.cells[at])));
      const C last = widen(r < call.last_rows ? call.last_cells[at] : call.first_cells[at]);
      const C gcell = call.gc[at] + g * o * (C(1) - t * t);
      gx[0] = narrow<T>(gcell * a * i * (C(1) - i));
      gx[units] = narrow<T>(gcell * last * f * (C(1) - f));
      gx[2 * units] = narrow<T>(gcell * i * (C(1) - a * a));
      gx[3 * units] = narrow<T>(g * t * o * (C(1) - o));
      call.gc[at] = gcell * f;
      call.gh[at] = C(0);
      break;
    }
    case RecurrentCell::gru: {
      T *const gx = call.gx + r * 3 * units + j, *const gu = call.gu + r * 3 * units + j;
      const C reset = saved(0), z = saved(1), fresh = saved(2), inner = saved(3);
      const C before = widen(call.before[at]);
      const C gfresh = g * (C(1) - z) * (C(1) - fresh * fresh);
      gx[0] = gu[0] = narrow<T>(gfresh * inner * reset * (C(1) - reset));
      gx[units] = gu[units] = narrow<T>(g * (before - fresh) * z * (C(1) - z));
      gx[2 * units] = narrow<T>(gfresh);
      gu[2 * units] = narrow<T>(gfresh * reset);
      call.gh[at] = g * z;
      break;
    }
    default: {
      const C y = widen(call.y[at]);
      const bool is_tanh = call.cell == RecurrentCell::tanh;
      call.gx[at] = narrow<T>(is_tanh ? g * (C(1) - y * y) : y > 0 ? g : C(0));
      call.gh[at] = C(0);
    }
  }
}

LaunchShape shape_for(int64_t elements) { return {dim3(blocks_for(elements, kUnitBlock)), dim3(kUnitBlock)}; }

/// A state that kernels may change, in the type of computation.
template <class C>
Array state_from(const Array& given, const Array& like) {
  const Array state = empty(like.shape(), dtype_of<C>, like.device());
  if (given.is_defined()) {
    state.copy_from(given);
  } else {
    state.fill(0.0);
  }
  return state;
}

template <class T>
void forward(const RecurrentLayer& layer, const Array& batch_sizes, const Array& x, const Array& h, const Array& c,
             const Array& w, const Array& b, const Array& y, const Array& last_h, const Array& last_c,
             const Array& saved, const Array& cells, const Array& before) {
  using C = Compute<T>;
  constexpr bool kIsHalf = sizeof(T) != sizeof(C);
  const int64_t units = h.shape()[1], gates = kernels::gates_of(layer.cell), of_x = gates * units;
  const Array state_h = state_from<C>(h, h);
  const Array state_c = c.is_defined() ? state_from<C>(c, c) : Array();
  Context& context = Context::of(y);
  if (x.size() > 0) {
    const Array factor = kIsHalf ? h.copy() : state_h;
    const Array product = empty({h.shape()[0], of_x}, dtype_of<C>, h.device());
    const int64_t of_saved = kernels::saved_gates_of(layer.cell) * units;
    const auto moved = [](const Array& array, int64_t elements) {
      return array.is_defined() ? array.data<T>() + elements : nullptr;
    };
    for (const PackedTime& time : times_of(batch_sizes, layer.reversed)) {
      if (time.rows == 0) continue;
      MatrixProduct p;
      p.m = time.rows;
      p.n = of_x;
      p.k = units;
      p.a = {factor.data<char>(), factor.dtype(), units, 1};
      p.b = {w.data<char>(), w.dtype(), 1, units};
      p.c = {product.data<char>(), product.dtype(), of_x, 1};
      multiply(context, p);
      CellCall<T> call;
      call.cell = layer.cell;
      call.rows = time.rows;
      call.units = units;
      call.x = moved(x, time.first * of_x);
      call.product = product.data<C>();
      call.b = b.data<T>();
      call.state_h = state_h.data<C>();
      call.state_c = data_of<C>(state_c);
      call.factor = kIsHalf ? factor.data<T>() : nullptr;
      call.y = moved(y, time.first * units);
      call.saved = moved(saved, time.first * of_saved);
      call.cells = moved(cells, time.first * units);
      call.before = moved(before, time.first * units);
      enqueue(context, shape_for(time.rows * units), cell_forward<T>, call);
    }
  }
  last_h.copy_from(state_h);
  if (last_c.is_defined()) last_c.copy_from(state_c);
}

template <class T>
void gradient(const RecurrentLayer& layer, const Array& batch_sizes, const Array& c, const Array& w, const Array& y,
              const Array& saved, const Array& cells, const Array& before, const Array& gy, const Array& glast_h,
              const Array& glast_c, const Array& gx, const Array& gu, const Array& gh, const Array& gc) {
  using C = Compute<T>;
  const int64_t units = w.shape()[1], of_x = kernels::gates_of(layer.cell) * units;
  const Array state_h = state_from<C>(glast_h, gh);
  const Array state_c = gc.is_defined() ? state_from<C>(glast_c, gc) : Array();
  Context& context = Context::of(gh);
  const std::vector<PackedTime> times = times_of(batch_sizes, layer.reversed);
  const int64_t of_saved = kernels::saved_gates_of(layer.cell) * units;
  const auto moved = [](const Array& array, int64_t elements) {
    return array.is_defined() ? array.data<T>() + elements : nullptr;
  };
  for (size_t i = gx.size() > 0 ? times.size() : 0; i-- > 0;) {
    const PackedTime time = times[i], last = i > 0 ? times[i - 1] : PackedTime{0, 0};
    if (time.rows == 0) continue;
    CellGradientCall<T> call;
    call.cell = layer.cell;
    call.rows = time.rows;
    call.units = units;
    call.gy = moved(gy, time.first * units);
    call.y = moved(y, time.first * units);
    call.saved = moved(saved, time.first * of_saved);
    call.cells = moved(cells, time.first * units);
    call.before = moved(before, time.first * units);
    call.last_cells = moved(cells, last.first * units);
    call.first_cells = moved(c, 0);
    call.last_rows = last.rows;
    call.gx = moved(gx, time.first * of_x);
    call.gu = moved(gu, time.first * of_x);
    call.gh = state_h.data<C>();
    call.gc = data_of<C>(state_c);
    enqueue(context, shape_for(time.rows * units), cell_gradient<T>, call);
    const Array& to_h = gu.is_defined() ? gu : gx;
    MatrixProduct p;
    p.m = time.rows;
    p.n = units;
    p.k = of_x;
    p.a = {reinterpret_cast<char*>(moved(to_h, time.first * of_x)), to_h.dtype(), of_x, 1};
    p.b = {w.data<char>(), w.dtype(), units, 1};
    p.c = {state_h.data<char>(), state_h.dtype(), units, 1};
    p.accumulate = true;
    multiply(context, p);
  }
  gh.copy_from(state_h);
  if (gc.is_defined()) gc.copy_from(state_c);
}

void recurrent_forward(Params<RecurrentLayer> layer, HostIn batch_sizes, In x, In h, In c, In w, In b, Out y,
                       Out last_h, Out last_c, Out saved, Out cells, Out before) {
  if (h->size() == 0) return;
  visit_floating(h->dtype(), [&]<class T>() {
    forward<T>(*layer, *batch_sizes, *x, *h, *c, *w, *b, *y, *last_h, *last_c, *saved, *cells, *before);
  });
}

void recurrent_gradient(Params<RecurrentLayer> layer, HostIn batch_sizes, In c, In w, In y, In saved, In cells,
                        In before, In gy, In glast_h, In glast_c, Out gx, Out gu, Out gh, Out gc) {
  if (gh->size() == 0) return;
  visit_floating(gh->dtype(), [&]<class T>() {
    gradient<T>(*layer, *batch_sizes, *c, *w, *y, *saved, *cells, *before, *gy, *glast_h, *glast_c, *gx, *gu, *gh, *gc);
  });
}

}  // namespace

void register_recurrent(Backend& backend) {
  backend.add<kernels::RecurrentForward>(recurrent_forward);
  backend.add<kernels::RecurrentGradient>(recurrent_gradient);
}

}  // namespace kusari::cuda
