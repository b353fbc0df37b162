#include "kusari/framework/kernels/recurrent.h"

#include <algorithm>
#include <vector>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/bfloat16_gemm.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/flush_denormals.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/isa/recurrent.h"
#include "kusari/framework/cpu/register.h"
#include "kusari/framework/cpu/scratch.h"

namespace kusari::cpu {
namespace {

using kernels::RecurrentCell;
using kernels::RecurrentLayer;

// Multiplications of one task at least.
constexpr int64_t kTaskWork = 32768;

const RecurrentLoop& loop_for(Dtype dtype) {
  static const RecurrentLoops& loops = *KUSARI_LOOPS(isa(), recurrent_loops);
  return dtype == Dtype::float64 ? loops.f64 : loops.f32;
}
const RecurrentCells& cells_for(Dtype dtype) {
  static const RecurrentCells* const bfloat16_cells = KUSARI_BFLOAT16_LOOPS(bfloat16_recurrent_cells);
  return dtype == Dtype::bfloat16 ? *bfloat16_cells : loop_for(dtype).cells;
}

// The times of packed rows in the order of their computation.
struct Times {
  struct Time {
    int64_t first, rows;  // of the packed rows
  };
  std::vector<Time> all;

  Times(const Array& batch_sizes, bool is_reversed) {
    const int64_t* const rows = batch_sizes.data<int64_t>();
    int64_t first = 0;
    for (int64_t t = 0; t < batch_sizes.size(); first += rows[t++]) all.push_back({first, rows[t]});
    if (is_reversed) std::reverse(all.begin(), all.end());
  }
};

char* moved(const Array& array, int64_t elements) {
  return array.is_defined() ? static_cast<char*>(array.raw_data()) + elements * itemsize(array.dtype()) : nullptr;
}

// Weights in panels of a few units, which one task computes at every time, so that they stay in its thread's caches.
// Products of bfloat16 layers have bfloat16 factors and float32 sums where the processor has such.
class Panels {
 public:
  // For gates: h W^T by unit. Otherwise gu W, whose columns are units.
  Panels(const RecurrentLoop& loop, const Array& w, int64_t gates, bool is_gradient, bool in_bfloat16)
      : loop_{loop},
        halves_{in_bfloat16 ? &bfloat16_gemm() : nullptr},
        units_{w.shape()[1]},
        width_{is_gradient || gates == 1 ? 2 * kUnits : kUnits},
        columns_{is_gradient ? width_ : gates * width_},
        depth_{is_gradient ? gates * units_ : units_},
        panel_bytes_{in_bfloat16 ? bfloat16_packed_size(depth_, columns_) * 2 : columns_ * depth_ * loop.itemsize},
        packed_{count() * panel_bytes_} {
    parallel_for(count(), std::max<int64_t>(1, kTaskWork / std::max<int64_t>(columns_ * depth_, 1)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t p = begin; p < end; ++p) {
                     GatePanel panel;
                     panel.w = moved(w, is_gradient ? p * width_ : p * width_ * units_);
                     panel.gate_step = units_ * units_;
                     panel.unit_step = is_gradient ? 1 : units_;
                     panel.depth_step = is_gradient ? units_ : 1;
                     panel.gates = is_gradient ? 1 : gates;
                     panel.width = width_;
                     panel.depth = depth_;
                     panel.units = units_of(p);
                     pack(panel, at(p));
                   }
                 });
  }

  int64_t count() const { return (units_ + width_ - 1) / width_; }
  int64_t width() const { return width_; }
  int64_t columns() const { return columns_; }
  int64_t units_of(int64_t p) const { return std::min(width_, units_ - p * width_); }
  // Panels of a task that has so many rows to multiply.
  int64_t at_once(int64_t rows) const {
    return std::max<int64_t>(1, kTaskWork / std::max<int64_t>(rows * columns_ * depth_, 1));
  }
  // Rows from the given one as the products want them: `to` has room for them.
  const void* prepared(const Array& factor, int64_t first, int64_t rows, char* to) const {
    const void* const from = moved(factor, first * depth_);
    if (halves_ == nullptr || factor.dtype() == Dtype::bfloat16) return from;
    convert_loop(Dtype::float32, Dtype::bfloat16)(from, to, rows * depth_);
    return to;
  }
  int64_t prepared_bytes(int64_t rows) const { return halves_ == nullptr ? 0 : rows * depth_ * 2; }
  // out: (rows, columns). a: prepared.
  void multiply(int64_t p, const void* a, int64_t rows, void* out) const {
    if (halves_ == nullptr) return loop_.multiply(a, depth_, rows, depth_, at(p), columns_, out);
    halves_->multiply(static_cast<const uint16_t*>(a), depth_, rows, depth_, reinterpret_cast<const uint16_t*>(at(p)),
                      columns_, static_cast<float*>(out), columns_, false);
  }

 private:
  char* at(int64_t p) const { return packed_.get() + p * panel_bytes_; }

  void pack(const GatePanel& panel, char* to) const {
    if (halves_ == nullptr) return loop_.pack(panel, to);
    const auto* const w = static_cast<const uint16_t*>(panel.w);
    if (panel.gates == 1 && panel.unit_step == 1) {  // columns side by side
      return halves_->pack(w, panel.depth_step, 1, depth_, panel.units, reinterpret_cast<uint16_t*>(to));
    }
    const Scratch<uint16_t> columns(columns_ * depth_);  // one after another
    std::fill_n(columns.get(), columns_ * depth_, uint16_t{0});
    for (int64_t gate = 0; gate < panel.gates; ++gate) {
      for (int64_t unit = 0; unit < panel.units; ++unit) {
        std::copy_n(w + gate * panel.gate_step + unit * panel.unit_step, depth_,
                    columns.get() + (gate * width_ + unit) * depth_);
      }
    }
    halves_->pack(columns.get(), 1, depth_, depth_, columns_, reinterpret_cast<uint16_t*>(to));
  }

  const RecurrentLoop& loop_;
  const Bfloat16GemmLoops* halves_;
  int64_t units_, width_, columns_, depth_, panel_bytes_;
  Scratch<> packed_;
};

// Half types are computed in float32. Where there are products of bfloat16, such layers read and write what is large as
// it is, and have arrays of float32 for the states alone; others for everything.
bool is_read_as_it_is(const Array& x, const Array& w) {
  return x.dtype() == Dtype::bfloat16 && w.dtype() == Dtype::bfloat16 && has_bfloat16_dot();
}
Array widened_state(const Array& x) { return x.is_defined() && is_half(x.dtype()) ? x.astype(Dtype::float32) : x; }
Array wide_state(const Array& y) { return y.is_defined() && is_half(y.dtype()) ? empty(y.shape(), Dtype::float32) : y; }
void narrow(const Array& wide, const Array& y) {
  if (y.is_defined() && !wide.is_same(y)) y.copy_from(wide);
}

// h, c, b, last_h, last_c and before: float32 where the others are bfloat16.
void compute_forward(const RecurrentLayer& layer, const Array& batch_sizes, const Array& x, const Array& h,
                     const Array& c, const Array& w, const Array& b, const Array& y, const Array& last_h,
                     const Array& last_c, const Array& saved, const Array& cells, const Array& before) {
  const RecurrentLoop& loop = loop_for(x.dtype());
  const RecurrentCell cell = layer.cell;
  const auto compute = cells_for(x.dtype()).forward[static_cast<int>(cell)];
  const int64_t units = h.shape()[1], gates = kernels::gates_of(cell), size = loop.itemsize;
  last_h.copy_from(h);
  if (cell == RecurrentCell::lstm) last_c.copy_from(c);
  if (x.size() == 0 || units == 0) return;
  const Times times(batch_sizes, layer.reversed);
  const Array inputs = before.is_defined() ? before : empty(y.shape(), h.dtype());
  // Rows that begin at a later time than the first begin with the first state.
  for (size_t i = 0; i < times.all.size(); ++i) {
    const auto [first, rows] = times.all[i];
    const int64_t known = i == 0 ? 0 : std::min(rows, times.all[i - 1].rows);
    std::copy_n(moved(h, known * units), (rows - known) * units * size, moved(inputs, (first + known) * units));
  }
  const Panels panels(loop, w, gates, false, w.dtype() == Dtype::bfloat16);
  const Scratch<> rounded(panels.prepared_bytes(h.shape()[0]));
  for (size_t i = 0; i < times.all.size(); ++i) {
    const auto [first, rows] = times.all[i];
    if (rows == 0) continue;
    const bool is_last = i + 1 == times.all.size();
    const void* const factor = panels.prepared(inputs, first, rows, rounded.get());
    parallel_for(panels.count(), panels.at_once(rows), [&, first = first, rows = rows](int64_t begin, int64_t end) {
      const FlushDenormals flush;
      const Scratch<> product(rows * panels.columns() * size);
      for (int64_t p = begin; p < end; ++p) {
        panels.multiply(p, factor, rows, product.get());
        for (int64_t at = 0; at < panels.units_of(p); at += kUnits) {
          const int64_t unit = p * panels.width() + at;
          CellRows call;
          call.rows = rows;
          call.units = std::min(kUnits, units - unit);
          call.hidden = units;
          call.product = product.get() + at * size;
          call.product_row = panels.columns();
          call.product_gate = panels.width();
          call.x = moved(x, first * gates * units + unit);
          call.b = moved(b, unit);
          call.h = moved(inputs, first * units + unit);
          call.y = moved(y, first * units + unit);
          call.last_h = moved(last_h, unit);
          call.last_c = moved(last_c, unit);
          call.saved = moved(saved, first * kernels::saved_gates_of(cell) * units + unit);
          call.cells = moved(cells, first * units + unit);
          call.next = is_last ? nullptr : moved(inputs, times.all[i + 1].first * units + unit);
          call.next_rows = is_last ? 0 : std::min(rows, times.all[i + 1].rows);
          compute(call);
        }
      }
    });
  }
}

void recurrent_forward(Params<RecurrentLayer> layer, HostIn batch_sizes, In x, In h, In c, In w, In b, Out y,
                       Out last_h, Out last_c, Out saved, Out cells, Out before) {
  const Array states[] = {wide_state(*last_h), wide_state(*last_c), wide_state(*before)};
  if (is_half(x->dtype()) && !is_read_as_it_is(*x, *w)) {
    const Array wide[] = {wide_state(*y), wide_state(*saved), wide_state(*cells)};
    compute_forward(*layer, *batch_sizes, widened_state(*x), widened_state(*h), widened_state(*c), widened_state(*w),
                    widened_state(*b), wide[0], states[0], states[1], wide[1], wide[2], states[2]);
    const Array* const narrow_ones[] = {&*y, &*saved, &*cells};
    for (int k = 0; k < 3; ++k) narrow(wide[k], *narrow_ones[k]);
  } else {
    compute_forward(*layer, *batch_sizes, *x, widened_state(*h), widened_state(*c), *w, widened_state(*b), *y,
                    states[0], states[1], *saved, *cells, states[2]);
  }
  const Array* const narrow_states[] = {&*last_h, &*last_c, &*before};
  for (int k = 0; k < 3; ++k) narrow(states[k], *narrow_states[k]);
}

// gh and gc: float32 where the others are bfloat16.
void compute_gradient(const RecurrentLayer& layer, const Array& batch_sizes, const Array& c, const Array& w,
                      const Array& y, const Array& saved, const Array& cells, const Array& before, const Array& gy,
                      const Array& glast_h, const Array& glast_c, const Array& gx, const Array& gu, const Array& gh,
                      const Array& gc) {
  const RecurrentLoop& loop = loop_for(before.dtype());
  const RecurrentCell cell = layer.cell;
  const auto compute = cells_for(before.dtype()).backward[static_cast<int>(cell)];
  const int64_t units = w.shape()[1], gates = kernels::gates_of(cell), size = loop.itemsize;
  const auto begin_with = [](const Array& to, const Array& given) {
    if (!to.is_defined()) return;
    if (given.is_defined()) {
      to.copy_from(given);
    } else {
      to.fill(0);
    }
  };
  begin_with(gh, glast_h);
  begin_with(gc, glast_c);
  if (gx.size() == 0) return;
  const Times times(batch_sizes, layer.reversed);
  const Panels panels(loop, w, gates, true, w.dtype() == Dtype::bfloat16);
  const Scratch<> rounded(panels.prepared_bytes(gh.shape()[0]));
  const Array& to_h = gu.is_defined() ? gu : gx;
  // At each time the gradient of h comes through the products of the time after it; then that of the gates follows.
  for (size_t i = times.all.size() + 1; i-- > 0;) {
    const bool has_product = i<times.all.size(), has_gates = i> 0;
    const Times::Time none{0, 0};
    const Times::Time after = has_product ? times.all[i] : none, time = has_gates ? times.all[i - 1] : none;
    const Times::Time last = i > 1 ? times.all[i - 2] : none;
    if (after.rows + time.rows == 0) continue;
    const void* const factor = panels.prepared(to_h, after.first, after.rows, rounded.get());
    parallel_for(panels.count(), panels.at_once(std::max<int64_t>(after.rows, 1)), [&](int64_t begin, int64_t end) {
      const FlushDenormals flush;
      const Scratch<> product(after.rows * panels.columns() * size);
      for (int64_t p = begin; p < end; ++p) {
        if (after.rows > 0) panels.multiply(p, factor, after.rows, product.get());
        for (int64_t at = 0; at < panels.units_of(p); at += kUnits) {
          const int64_t unit = p * panels.width() + at;
          CellGradientRows call;
          call.rows = time.rows;
          call.units = std::min(kUnits, units - unit);
          call.hidden = units;
          call.product = after.rows > 0 ? product.get() + at * size : nullptr;
          call.product_row = panels.columns();
          call.product_rows = after.rows;
          call.gy = moved(gy, time.first * units + unit);
          call.y = moved(y, time.first * units + unit);
          call.saved = moved(saved, time.first * kernels::saved_gates_of(cell) * units + unit);
          call.cells = moved(cells, time.first * units + unit);
          call.before = moved(before, time.first * units + unit);
          call.last_cells = moved(cells, last.first * units + unit);
          call.first_cells = moved(c, unit);
          call.last_rows = last.rows;
          call.gx = moved(gx, time.first * gates * units + unit);
          call.gu = moved(gu, time.first * gates * units + unit);
          call.gh = moved(gh, unit);
          call.gc = moved(gc, unit);
          compute(call);
        }
      }
    });
  }
}

void recurrent_gradient(Params<RecurrentLayer> layer, HostIn batch_sizes, In c, In w, In y, In saved, In cells,
                        In before, In gy, In glast_h, In glast_c, Out gx, Out gu, Out gh, Out gc) {
  const Array states[] = {wide_state(*gh), wide_state(*gc)};
  if (is_half(before->dtype()) && !is_read_as_it_is(*before, *w)) {
    const Array wide[] = {wide_state(*gx), wide_state(*gu)};
    compute_gradient(*layer, *batch_sizes, widened_state(*c), widened_state(*w), widened_state(*y),
                     widened_state(*saved), widened_state(*cells), widened_state(*before), widened_state(*gy), *glast_h,
                     *glast_c, wide[0], wide[1], states[0], states[1]);
    narrow(wide[0], *gx);
    narrow(wide[1], *gu);
  } else {
    compute_gradient(*layer, *batch_sizes, *c, *w, *y, *saved, *cells, *before, *gy, *glast_h, *glast_c, *gx, *gu,
                     states[0], states[1]);
  }
  narrow(states[0], *gh);
  narrow(states[1], *gc);
}

}  // namespace

void register_recurrent(Backend& backend) {
  backend.add<kernels::RecurrentForward>(recurrent_forward);
  backend.add<kernels::RecurrentGradient>(recurrent_gradient);
}

}  // namespace kusari::cpu
