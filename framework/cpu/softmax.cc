#include "kusari/framework/kernels/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kusari/framework/core/small_vector.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/register.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/strided.h"

namespace kusari::cpu {
namespace {

const SoftmaxLoop& loops_for(Compute compute) {
  static const SoftmaxLoops& loops = *KUSARI_LOOPS(isa(), softmax_loops);
  return compute == Compute::float64 ? loops.f64 : loops.f32;
}

/// One array along the axis, and how its rows are read and written.
struct RowOperand {
  int64_t stride = 0;  // bytes along the axis
  int64_t itemsize = 0;
  bool direct = false;
  BlockReader reader;
  BlockWriter writer;

  RowOperand() = default;
  RowOperand(const Array& x, int axis, Compute compute)
      : stride{x.shape()[axis] == 1 ? kusari::itemsize(x.dtype()) : x.strides()[axis] * kusari::itemsize(x.dtype())},
        itemsize{kusari::itemsize(dtype_of_compute(compute))},
        reader{x.dtype(), stride, compute},
        writer{x.dtype(), stride, compute} {
    direct = reader.is_direct();
  }

  const void* read(const char* row, int64_t n, char* buffer) const {
    if (direct) return row;
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      reader.read(row + begin * stride, std::min(kBlock, n - begin), buffer + begin * itemsize);
    }
    return buffer;
  }
  void write(const char* buffer, int64_t n, char* row) const {
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      writer.write(buffer + begin * itemsize, std::min(kBlock, n - begin), row + begin * stride);
    }
  }
};

/// for_each_row for any layout and dtype: rows go through buffers where they are not ready for the loops.
template <class Body>
void for_each_strided_row(int axis, const Array& y, std::span<const Array* const> inputs,
                          std::span<const Array* const> others, const Body& body) {
  const Compute compute = widest(compute_of(inputs[0]->dtype()), Compute::float32);
  const int64_t n = inputs[0]->shape()[axis], size = itemsize(dtype_of_compute(compute));
  // The loop over everything but the axis: one element of it in every operand.
  SmallVector<Array, kMaxOperands> heads;
  const bool has_rows = y.is_defined();
  if (has_rows) heads.push_back(y.slice(axis, 0, 1));
  for (const Array* x : inputs) heads.push_back(x->slice(axis, 0, 1));
  for (const Array* x : others) heads.push_back(x->expand_dims(axis));
  const Array* operands[kMaxOperands];
  for (size_t k = 0; k < heads.size(); ++k) operands[k] = &heads[k];
  const StridedLoop plan({operands, heads.size()});

  const RowOperand target = has_rows ? RowOperand(y, axis, compute) : RowOperand();
  RowOperand sources[2];
  for (size_t k = 0; k < inputs.size(); ++k) sources[k] = RowOperand(*inputs[k], axis, compute);
  const int first_input = has_rows ? 1 : 0, first_other = first_input + static_cast<int>(inputs.size());

  const int64_t rows = plan.rows() * plan.row_size();
  parallel_for(rows, std::max<int64_t>(1, kThreadChunk / 4 / n), [&](int64_t begin, int64_t end) {
    bool buffered = has_rows && !target.direct;
    for (size_t k = 0; k < inputs.size(); ++k) buffered = buffered || !sources[k].direct;
    const Array buffer = buffered ? empty({3 * n * size}, Dtype::uint8) : Array();
    char* const space = buffered ? buffer.data<char>() : nullptr;
    StridedLoop::Cursor at(plan, begin / plan.row_size());
    int64_t column = begin % plan.row_size();
    for (int64_t row = begin; row < end; ++row) {
      const auto element = [&](int k) { return at[k] + column * plan.row_stride(k); };
      const void* in[2] = {};
      for (size_t k = 0; k < inputs.size(); ++k) {
        const int64_t offset = static_cast<int64_t>(k) * n * size;
        in[k] = sources[k].read(element(first_input + static_cast<int>(k)), n, space + offset);
      }
      const char* other[4] = {};
      for (size_t k = 0; k < others.size(); ++k) other[k] = element(first_other + static_cast<int>(k));
      char* const out = !has_rows ? nullptr : (target.direct ? element(0) : space + 2 * n * size);
      body(in, out, other, n);
      if (has_rows && !target.direct) target.write(out, n, element(0));
      if (++column == plan.row_size()) {
        column = 0;
        at.next();
      }
    }
  });
}

/// Whether rows along the axis lie one after the other, ready for the loops, and so do the elements of `others`.
bool is_plain(int axis, const Array& y, std::span<const Array* const> inputs, std::span<const Array* const> others) {
  const Dtype dtype = inputs[0]->dtype();
  const auto rows_are_plain = [&](const Array& x) {
    bool innermost = true;
    for (int i = axis + 1; i < x.ndim(); ++i) innermost = innermost && x.shape()[i] == 1;
    return innermost && x.is_contiguous() && x.dtype() == dtype;
  };
  if (dtype != Dtype::float32 && dtype != Dtype::float64) return false;
  bool plain = !y.is_defined() || rows_are_plain(y);
  for (const Array* x : inputs) plain = plain && rows_are_plain(*x);
  for (const Array* x : others) plain = plain && x->is_contiguous();
  return plain;
}

/// Calls body(in, out, other, n) with contiguous rows of the compute type along the axis: in[k] is a row of inputs[k],
/// out the row of y (null where y is undefined), and other[k] the address of the element of others[k], an array without
/// the axis, for this row.
template <class Body>
void for_each_row(int axis, const Array& y, std::span<const Array* const> inputs, std::span<const Array* const> others,
                  const Body& body) {
  if (!is_plain(axis, y, inputs, others)) {
    for_each_strided_row(axis, y, inputs, others, body);
    return;
  }
  const int64_t n = inputs[0]->shape()[axis], row_bytes = n * itemsize(inputs[0]->dtype());
  const char *first_in[2] = {}, *first_other[4] = {};
  int64_t other_bytes[4] = {};
  for (size_t k = 0; k < inputs.size(); ++k) first_in[k] = inputs[k]->data<char>();
  for (size_t k = 0; k < others.size(); ++k) {
    first_other[k] = others[k]->data<char>();
    other_bytes[k] = itemsize(others[k]->dtype());
  }
  char* const first_out = y.is_defined() ? y.data<char>() : nullptr;
  parallel_for(inputs[0]->size() / n, std::max<int64_t>(1, kThreadChunk / 4 / n), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {  // a row may be short: a few instructions around it matter
      const void* in[2];
      for (size_t k = 0; k < 2; ++k) in[k] = first_in[k] + row * row_bytes;
      const char* other[4];
      for (size_t k = 0; k < 4; ++k) other[k] = first_other[k] + row * other_bytes[k];
      body(in, first_out != nullptr ? first_out + row * row_bytes : nullptr, other, n);
    }
  });
}

/// Matrices of `rows` x `columns` behind each other, `count` of them: how arrays in C order lie around an inner axis.
struct Columns {
  int64_t count = 1, rows = 1, columns = 1;

  Columns(int axis, const Array& x) : rows{x.shape()[axis]} {
    for (int i = 0; i < axis; ++i) count *= x.shape()[i];
    for (int i = axis + 1; i < x.ndim(); ++i) columns *= x.shape()[i];
  }
};

/// Fewer columns are gathered into rows.
constexpr int64_t kFewColumns = 8;
/// Columns that one thread takes at a time: whole stripes of the loops.
constexpr int64_t kColumnChunk = 256;

/// Calls body(offset in bytes, columns) for pieces of the columns when all arrays lie in C order, ready for the loops
/// over columns; else does nothing and returns false.
template <class Body>
bool for_each_column(std::span<const Array* const> arrays, const Columns& shape, const Body& body) {
  const Dtype dtype = arrays[0]->dtype();
  if (shape.columns < kFewColumns || (dtype != Dtype::float32 && dtype != Dtype::float64)) return false;
  for (const Array* x : arrays) {
    if (x->dtype() != dtype || !x->is_contiguous()) return false;
  }
  const int64_t pieces = (shape.columns + kColumnChunk - 1) / kColumnChunk, size = itemsize(dtype);
  const int64_t piece_elements = shape.rows * std::min(shape.columns, kColumnChunk);
  parallel_for(shape.count * pieces, std::max<int64_t>(1, kThreadChunk / 4 / piece_elements),
               [&](int64_t begin, int64_t end) {
                 for (int64_t unit = begin; unit < end; ++unit) {
                   const int64_t first = unit % pieces * kColumnChunk;
                   const int64_t offset = unit / pieces * shape.rows * shape.columns + first;
                   body(offset * size, std::min(kColumnChunk, shape.columns - first));
                 }
               });
  return true;
}

const SoftmaxColumnLoop& column_loops_for(Compute compute) {
  static const SoftmaxColumnLoops& loops = *KUSARI_LOOPS(isa(), softmax_column_loops);
  return compute == Compute::float64 ? loops.f64 : loops.f32;
}

Compute compute_for(const Array& x) { return compute_of(x.dtype()); }

/// The loop over rows and the one over columns, as members.
template <auto kRows, auto kColumns>
void run_unary(int axis, const Array& x, const Array& y) {
  if (x.size() == 0) return;
  const Compute compute = compute_for(x);
  const Array* const both[] = {&x, &y};
  const Columns shape(axis, x);
  const auto columns = column_loops_for(compute).*kColumns;
  if (for_each_column(both, shape, [&](int64_t offset, int64_t n) {
        columns(x.data<char>() + offset, y.data<char>() + offset, shape.rows, shape.columns, n);
      })) {
    return;
  }
  const auto rows = loops_for(compute).*kRows;
  const Array* const inputs[] = {&x};
  for_each_row(axis, y, inputs, {},
               [&](const void* const* in, void* out, const char* const*, int64_t n) { rows(in[0], out, n); });
}

template <auto kRows, auto kColumns>
void run_binary(int axis, const Array& y, const Array& gy, const Array& gx) {
  if (y.size() == 0) return;
  const Compute compute = compute_for(y);
  const Array* const all[] = {&y, &gy, &gx};
  const Columns shape(axis, y);
  const auto columns = column_loops_for(compute).*kColumns;
  if (for_each_column(all, shape, [&](int64_t offset, int64_t n) {
        columns(y.data<char>() + offset, gy.data<char>() + offset, gx.data<char>() + offset, shape.rows, shape.columns,
                n);
      })) {
    return;
  }
  const auto rows = loops_for(compute).*kRows;
  const Array* const inputs[] = {&y, &gy};
  for_each_row(axis, gx, inputs, {},
               [&](const void* const* in, void* out, const char* const*, int64_t n) { rows(in[0], in[1], out, n); });
}

void softmax(Params<int> axis, In x, Out y) {
  run_unary<&SoftmaxLoop::softmax, &SoftmaxColumnLoop::softmax>(*axis, x, y);
}
void log_softmax(Params<int> axis, In x, Out y) {
  run_unary<&SoftmaxLoop::log_softmax, &SoftmaxColumnLoop::log_softmax>(*axis, x, y);
}
void softmax_grad(Params<int> axis, In y, In gy, Out gx) {
  run_binary<&SoftmaxLoop::softmax_grad, &SoftmaxColumnLoop::softmax_grad>(*axis, y, gy, gx);
}
void log_softmax_grad(Params<int> axis, In y, In gy, Out gx) {
  run_binary<&SoftmaxLoop::log_softmax_grad, &SoftmaxColumnLoop::log_softmax_grad>(*axis, y, gy, gx);
}

/// An array without x's axis, of any dtype: written through an array of the compute type when it has another.
Array as_compute(const Array& y, Compute compute) {
  return y.dtype() == dtype_of_compute(compute) ? y : empty(y.shape(), dtype_of_compute(compute));
}

void logsumexp(Params<int> axis, In x, Out y) {
  if (y->size() == 0) return;
  const Compute compute = compute_for(x);
  const SoftmaxLoop& loops = loops_for(compute);
  const Array results = as_compute(y, compute);
  if (x->size() == 0) {
    results.fill(-std::numeric_limits<double>::infinity());
  } else {
    const Array* const inputs[] = {&*x};
    const Array* const others[] = {&results};
    for_each_row(*axis, Array(), inputs, others,
                 [&](const void* const* in, void*, const char* const* other, int64_t n) {
                   loops.logsumexp(in[0], const_cast<char*>(other[0]), n);
                 });
  }
  if (!results.is_same(*y)) y->copy_from(results);
}

/// The labels, and what each costs.
struct Labels {
  Array t;
  Array weight;  // float64 (C), or undefined
  int64_t ignored;
  int64_t classes;
  bool narrow;  // int32, else int64

  Labels(const kernels::SoftmaxCrossEntropyOptions& options, const Array& labels, const Array& class_weight, int64_t n)
      : t{labels.dtype() == Dtype::int32 ? labels : labels.astype(Dtype::int64)},
        ignored{options.ignore_label},
        classes{n},
        narrow{labels.dtype() == Dtype::int32} {
    if (class_weight.is_defined()) weight = class_weight.astype(Dtype::float64).contiguous();
  }
  int64_t read(const char* at) const {
    return narrow ? *reinterpret_cast<const int32_t*>(at) : *reinterpret_cast<const int64_t*>(at);
  }
  bool is_valid(int64_t label) const { return label >= 0 && label < classes; }
  double weight_of(int64_t label) const { return weight.is_defined() ? weight.data<double>()[label] : 1.0; }
};

template <class T>
T& element(const char* at) {
  return *reinterpret_cast<T*>(const_cast<char*>(at));
}

/// The losses, C-ordered and in the compute type T.
template <class T>
void cross_entropy(const Labels& labels, const SoftmaxLoop& loops, const Array& x, const Array& loss, const Array& p) {
  // Logarithms of single rows would take longer than the rest of a short row: sums and scores are kept for all.
  const Array sums = empty_like(loss), weights = labels.weight.is_defined() ? empty_like(loss) : Array();
  const Array* const inputs[] = {&x};
  const Array* const others[] = {&labels.t, &sums, &loss, &weights};
  const std::span used(others, weights.is_defined() ? 4 : 3);
  for_each_row(1, p, inputs, used, [&](const void* const* in, void* out, const char* const* other, int64_t n) {
    const int64_t label = labels.read(other[0]);
    const bool valid = labels.is_valid(label);
    T &sum = element<T>(other[1]), &score = element<T>(other[2]);
    loops.cross_entropy(in[0], valid ? label : 0, &sum, &score, out, n);
    if (label == labels.ignored) {
      sum = T{1};  // log(1) - 0
      score = T{0};
    } else if (!valid) {
      sum = std::numeric_limits<T>::quiet_NaN();
    }
    if (weights.is_defined()) element<T>(other[3]) = valid ? static_cast<T>(labels.weight_of(label)) : T{1};
  });
  loops.cross_entropy_loss(sums.raw_data(), loss.raw_data(), loss.raw_data(), loss.size());
  if (weights.is_defined()) pointwise_to(loss, kernels::Mul{}, loss, weights);
}

void softmax_cross_entropy(Params<kernels::SoftmaxCrossEntropyOptions> options, In x, In t, In class_weight, Out loss,
                           Out p) {
  if (x->size() == 0) return;
  const Compute compute = compute_for(x);
  const Labels labels(*options, t, class_weight, x->shape()[1]);
  const bool direct = loss->is_contiguous() && loss->dtype() == dtype_of_compute(compute);
  const Array losses = direct ? *loss : empty(loss->shape(), dtype_of_compute(compute));
  if (compute == Compute::float64) {
    cross_entropy<double>(labels, loops_for(compute), x, losses, p);
  } else {
    cross_entropy<float>(labels, loops_for(compute), x, losses, p);
  }
  if (!direct) loss->copy_from(losses);
}

template <class Label>
int64_t count_labels(const Array& t, int64_t ignored) {
  const Label* const labels = t.data<Label>();
  return std::count_if(labels, labels + t.size(), [&](Label label) { return label != ignored; });
}

void mean_loss(Params<kernels::MeanLossOptions> options, In loss, In t, Out mean, Out divisor) {
  kernels::MeanLossOptions known = *options;
  if (known.count == 0 && t->is_contiguous() && (t->dtype() == Dtype::int32 || t->dtype() == Dtype::int64)) {
    const auto count = t->dtype() == Dtype::int32 ? count_labels<int32_t> : count_labels<int64_t>;
    known.count = std::max<int64_t>(1, count(t, known.ignore_label));
  }
  kernels::mean_loss_by_reductions(known, loss, t, mean, divisor);
}

void softmax_cross_entropy_grad(Params<kernels::SoftmaxCrossEntropyOptions> options, In p, In t, In class_weight, In g,
                                In divisor, Out gx) {
  if (p->size() == 0) return;
  const Compute compute = compute_for(p);
  const SoftmaxLoop& loops = loops_for(compute);
  const Labels labels(*options, t, class_weight, p->shape()[1]);
  const bool is_rounded = itemsize(p->dtype()) == 2, one_factor = g->size() == 1;
  const Array factors = (divisor ? pointwise(kernels::Div{}, *g, *divisor) : *g).astype(Dtype::float64);
  const int64_t size = itemsize(dtype_of_compute(compute));
  const Array* const inputs[] = {&*p};
  const Array* const others[] = {&labels.t, &factors};
  const double factor_of_all = one_factor ? *factors.data<double>() : 0.0;
  const std::span used(others, one_factor ? 1 : 2);
  for_each_row(1, gx, inputs, used, [&](const void* const* in, void* out, const char* const* other, int64_t n) {
    const int64_t label = labels.read(other[0]);
    const double factor = one_factor ? factor_of_all : *reinterpret_cast<const double*>(other[1]);
    if (label == labels.ignored || !labels.is_valid(label)) {
      std::fill_n(static_cast<char*>(out), n * size, char{0});
    } else {
      loops.cross_entropy_grad(in[0], is_rounded, label, factor * labels.weight_of(label), out, n);
    }
  });
}

}  // namespace

void register_softmax(Backend& backend) {
  backend.add<kernels::Softmax>(&softmax);
  backend.add<kernels::SoftmaxGrad>(&softmax_grad);
  backend.add<kernels::LogSoftmax>(&log_softmax);
  backend.add<kernels::LogSoftmaxGrad>(&log_softmax_grad);
  backend.add<kernels::Logsumexp>(&logsumexp);
  backend.add<kernels::SoftmaxCrossEntropy>(&softmax_cross_entropy);
  backend.add<kernels::MeanLoss>(&mean_loss);
  backend.add<kernels::SoftmaxCrossEntropyGrad>(&softmax_cross_entropy_grad);
}

}  // namespace kusari::cpu
