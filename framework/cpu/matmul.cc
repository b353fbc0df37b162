#include "kusari/framework/cpu/matmul.h"

#include <algorithm>
#include <string>
#include <utility>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/isa/gemm.h"
#include "kusari/framework/cpu/register.h"
#include "kusari/framework/cpu/scratch.h"
#include "kusari/framework/kernels/matmul.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari::cpu {
namespace {

const void* moved(const void* from, int64_t elements, Dtype dtype) {
  return static_cast<const char*>(from) + elements * itemsize(dtype);
}
void* moved(void* from, int64_t elements, Dtype dtype) { return static_cast<char*>(from) + elements * itemsize(dtype); }

}  // namespace

MatrixProduct MatrixProduct::part(int64_t row, int64_t rows, int64_t column, int64_t columns) const {
  MatrixProduct p = *this;
  p.m = rows;
  p.n = columns;
  p.a = moved(a, row * a_row, a_dtype);
  p.b = moved(b, column * b_column, b_dtype);
  p.c = moved(c, row * c_row + column, c_dtype);
  if (bias != nullptr) p.bias = moved(bias, column, bias_dtype);
  return p;
}

void multiply_with_loops(const MatrixProduct& p) {
  static const GemmLoops& loops = *KUSARI_LOOPS(isa(), gemm_loops);
  alignas(64) char workspace[kGemmWorkspace];
  const Gemm gemm = p.dtype == Dtype::float32 ? loops.f32 : loops.f64;
  gemm({p.m, p.n, p.k, p.a, p.a_row, p.a_column, p.b, p.b_row, p.b_column, p.c, p.c_row, p.bias, workspace});
}

namespace {

// A call through oneDNN has a fixed cost of about half a microsecond; from here on its kernels are faster than ours.
constexpr int64_t kSmallProduct = 64 * 64 * 64;
// Multiplications that are worth a thread of their own: about 10 microseconds.
constexpr int64_t kPartWork = int64_t{1} << 20;
constexpr int64_t kManyParts = 16;

// Reading the matrix bounds the product of a matrix and a vector; oneDNN copies it first.
bool is_vector_product(const MatrixProduct& p) { return p.m == 1 || p.n == 1; }
// The same of such a product: what is read in about 10 microseconds.
constexpr int64_t kVectorPartWork = int64_t{1} << 16;

}  // namespace

void multiply_alone(const MatrixProduct& p) {
  if (p.n == 1 && p.m > 1 && p.c_row == 1 && p.bias == nullptr) {  // read as the product of a row and a matrix
    MatrixProduct row = {p.dtype, 1, p.m, p.k, p.b, p.b_column, p.b_row, p.a, p.a_column, p.a_row, p.c, p.m, nullptr};
    row.c_dtype = p.c_dtype;
    return multiply_alone(row);
  }
  if (p.dtype == Dtype::float64 ||
      (p.dtype == Dtype::float32 && (p.m * p.n * p.k <= kSmallProduct || is_vector_product(p)))) {
    return multiply_with_loops(p);
  }
  if (multiply_with_onednn(p)) return;
  if (p.dtype != Dtype::float32) throw Error(std::string("matmul: this processor has no products of ") + name(p.dtype));
  multiply_with_loops(p);
}

namespace {

// How c is divided among threads: a grid that depends on the sizes alone.
struct Grid {
  int64_t rows, columns;  // of a part

  explicit Grid(const MatrixProduct& p) : rows{p.m}, columns{p.n} {
    const int64_t work = p.m * p.n * p.k;
    const int64_t part = is_vector_product(p) ? kVectorPartWork : kPartWork;
    const int64_t parts = std::min(work / part, std::clamp<int64_t>(work / (kPartWork * 64), kManyParts, 64));
    if (parts < 2) return;
    // Long strips first: each reads one of the two matrices whole, wider ones where that is worth the copies.
    int64_t& longer = p.n >= p.m ? columns : rows;
    int64_t& shorter = p.n >= p.m ? rows : columns;
    const int64_t strips = divide(longer, shorter < 1024 ? 128 : 256, parts);
    divide(shorter, 256, parts / strips);
  }

 private:
  // Cuts `size` to pieces of a multiple of `step`, no more than `most` of them, and returns their number.
  static int64_t divide(int64_t& size, int64_t step, int64_t most) {
    const int64_t whole = size;
    if (most < 2) return 1;
    size = std::min(whole, (whole + most * step - 1) / (most * step) * step);
    return (whole + size - 1) / size;
  }
};

// A matrix of p.dtype in place of one of another dtype: `lines` runs of `length` elements.
void convert_lines(Dtype from_dtype, const void* from, int64_t from_step, Dtype to_dtype, void* to, int64_t to_step,
                   int64_t lines, int64_t length) {
  const ConvertLoop convert = convert_loop(from_dtype, to_dtype);
  for (int64_t i = 0; i < lines; ++i) {
    convert(moved(from, i * from_step, from_dtype), moved(to, i * to_step, to_dtype), length);
  }
}

// a as p.dtype in `to`, without gaps.
void convert_a(MatrixProduct& p, void* to) {
  const bool by_rows = p.a_column == 1;
  const int64_t lines = by_rows ? p.m : p.k, length = by_rows ? p.k : p.m, step = by_rows ? p.a_row : p.a_column;
  convert_lines(p.a_dtype, p.a, step, p.dtype, to, length, lines, length);
  (by_rows ? p.a_row : p.a_column) = length;
  p.a = to;
  p.a_dtype = p.dtype;
}
void convert_b(MatrixProduct& p, void* to) {
  const bool by_rows = p.b_column == 1;
  const int64_t lines = by_rows ? p.k : p.n, length = by_rows ? p.n : p.k, step = by_rows ? p.b_row : p.b_column;
  convert_lines(p.b_dtype, p.b, step, p.dtype, to, length, lines, length);
  (by_rows ? p.b_row : p.b_column) = length;
  p.b = to;
  p.b_dtype = p.dtype;
}

bool is_convertible(const MatrixProduct& p) {
  return p.a_dtype != p.dtype || p.b_dtype != p.dtype || (p.c_dtype != p.dtype && p.dtype != Dtype::bfloat16);
}

// Matrices of other dtypes than p.dtype: the smaller one of a and b is converted whole, the other one and c in strips,
// so that no copy of the largest matrix is ever made.
void multiply_converted(const MatrixProduct& given) {
  constexpr int64_t kStripElements = int64_t{1} << 18, kStep = 64;
  MatrixProduct p = given;
  const int64_t size = itemsize(p.dtype);
  const bool by_columns = p.n >= p.m;
  const bool converts_whole = by_columns ? p.a_dtype != p.dtype : p.b_dtype != p.dtype;
  const Scratch<> whole(!converts_whole ? 0 : size * p.k * (by_columns ? p.m : p.n));
  if (converts_whole) by_columns ? convert_a(p, whole.get()) : convert_b(p, whole.get());
  const bool converts_other = by_columns ? p.b_dtype != p.dtype : p.a_dtype != p.dtype;
  const bool converts_result = p.c_dtype != p.dtype;
  const int64_t across = by_columns ? p.m : p.n, along = by_columns ? p.n : p.m;
  const int64_t fitting = kStripElements / (p.k + across) / kStep * kStep;
  const int64_t width = std::min(along, std::max(fitting, kStep));
  parallel_for((along + width - 1) / width, 1, [&](int64_t begin, int64_t end) {
    const Scratch<> other(converts_other ? size * p.k * width : 0), result(converts_result ? size * across * width : 0);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i * width, count = std::min(width, along - first);
      MatrixProduct strip = by_columns ? p.part(0, p.m, first, count) : p.part(first, count, 0, p.n);
      if (converts_other) by_columns ? convert_b(strip, other.get()) : convert_a(strip, other.get());
      if (!converts_result) {
        multiply_alone(strip);
        continue;
      }
      const MatrixProduct target = strip;
      strip.c = result.get();
      strip.c_row = strip.n;
      strip.c_dtype = p.dtype;
      multiply_alone(strip);
      convert_lines(p.dtype, strip.c, strip.n, target.c_dtype, target.c, target.c_row, target.m, target.n);
    }
  });
}

// One row and a matrix of 16 bits, whose columns are contiguous: a text that is generated reads all weights for each
// token, so they are widened in registers.
bool is_narrow_row(const MatrixProduct& p) {
  return p.m == 1 && p.a_column == 1 && p.b_row == 1 && is_half(p.b_dtype) && p.dtype != Dtype::float64;
}
void multiply_narrow_row(const MatrixProduct& p) {
  static const GemmLoops& loops = *KUSARI_LOOPS(isa(), gemm_loops);
  const NarrowRow row = p.b_dtype == Dtype::float16 ? loops.float16_row : loops.bfloat16_row;
  const bool widens_a = p.a_dtype != Dtype::float32, narrows_c = p.c_dtype != Dtype::float32;
  const Scratch<float> wide_a(widens_a ? p.k : 0), wide_c(narrows_c ? p.n : 0), bias(p.bias != nullptr ? p.n : 0);
  if (widens_a) convert_loop(p.a_dtype, Dtype::float32)(p.a, wide_a.get(), p.k);
  if (p.bias != nullptr) convert_lines(p.bias_dtype, p.bias, 0, Dtype::float32, bias.get(), 0, 1, p.n);
  const float* const a = widens_a ? wide_a.get() : static_cast<const float*>(p.a);
  float* const c = narrows_c ? wide_c.get() : static_cast<float*>(p.c);
  parallel_for(p.n, std::max<int64_t>(1, 2 * kVectorPartWork / p.k), [&](int64_t begin, int64_t end) {
    row(a, moved(p.b, begin * p.b_column, p.b_dtype), p.b_column, end - begin, p.k, c + begin);
    if (p.bias == nullptr) return;
    for (int64_t j = begin; j < end; ++j) c[j] += bias.get()[j];
  });
  if (narrows_c) convert_loop(Dtype::float32, p.c_dtype)(c, p.c, p.n);
}

void multiply(const MatrixProduct& p) {
  if (is_narrow_row(p)) return multiply_narrow_row(p);
  if (is_convertible(p)) return multiply_converted(p);
  if (p.dtype == Dtype::bfloat16 && multiply_by_pairs(p, nullptr)) return;
  const Grid grid(p);
  if (grid.rows == p.m && grid.columns == p.n) return multiply_alone(p);
  const int64_t down = (p.m + grid.rows - 1) / grid.rows, across = (p.n + grid.columns - 1) / grid.columns;
  parallel_for(down * across, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / across * grid.rows, column = i % across * grid.columns;
      multiply_alone(p.part(row, std::min(grid.rows, p.m - row), column, std::min(grid.columns, p.n - column)));
    }
  });
}

// The last two axes of an operand as the product reads them.
struct Matrix {
  int64_t rows, columns, row_stride, column_stride;

  Matrix(const Array& x, bool transposed) {
    const int n = x.ndim();
    rows = x.shape()[n - 2];
    columns = x.shape()[n - 1];
    row_stride = x.strides()[n - 2];
    column_stride = x.strides()[n - 1];
    if (transposed) {
      std::swap(rows, columns);
      std::swap(row_stride, column_stride);
    }
    // The stride of an axis of size 1 is nobody's business, but libraries check it.
    if (columns == 1) column_stride = 1;
    if (rows == 1) row_stride = column_stride == 1 ? std::max<int64_t>(columns, 1) : 1;
  }
  bool is_usable() const {
    return (column_stride == 1 && row_stride >= columns) || (row_stride == 1 && column_stride >= rows);
  }
};

// Iterates over the leading axes of c, with the elements to skip in each operand.
class Batch {
 public:
  Batch(const Array& a, const Array& b, const Array& c) : shape_{c.shape()} {
    shape_.pop_back();
    shape_.pop_back();
    const Array* const operands[] = {&a, &b, &c};
    for (int k = 0; k < 3; ++k) {
      const Array& x = *operands[k];
      const int added = c.ndim() - x.ndim();
      for (int axis = 0; axis < shape_.ndim(); ++axis) {
        const int own = axis - added;
        strides_[k].push_back(own < 0 || x.shape()[own] == 1 ? 0 : x.strides()[own]);
      }
    }
  }
  int64_t size() const { return numel(shape_); }
  // Elements from the first matrix of operand k to matrix number i.
  int64_t offset(int k, int64_t i) const {
    int64_t skipped = 0;
    for (int axis = shape_.ndim() - 1; axis >= 0; --axis) {
      skipped += i % shape_[axis] * strides_[k][axis];
      i /= shape_[axis];
    }
    return skipped;
  }

 private:
  Shape shape_;
  Strides strides_[3];
};

void multiply_batch(const MatrixProduct& first, const Batch& batch) {
  const auto at = [&](int64_t i) {
    MatrixProduct p = first;
    p.a = moved(p.a, batch.offset(0, i), p.a_dtype);
    p.b = moved(p.b, batch.offset(1, i), p.b_dtype);
    p.c = moved(p.c, batch.offset(2, i), p.c_dtype);
    return p;
  };
  const int64_t work = std::max<int64_t>(first.m * first.n * first.k, 1);
  if (batch.size() < kManyParts && work >= kPartWork * kManyParts) {  // each is divided by itself
    for (int64_t i = 0; i < batch.size(); ++i) multiply(at(i));
    return;
  }
  parallel_for(batch.size(), std::max<int64_t>(1, kPartWork / 4 / work), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) multiply(at(i));
  });
}

// The first matrices of a, b and c, which are usable.
MatrixProduct product_of(const Array& a, const Matrix& x, const Array& b, const Matrix& y, const Array& bias,
                         const Array& c, const Matrix& z, Dtype dtype) {
  return {dtype,
          x.rows,
          y.columns,
          x.columns,
          a.raw_data(),
          x.row_stride,
          x.column_stride,
          b.raw_data(),
          y.row_stride,
          y.column_stride,
          c.raw_data(),
          z.row_stride,
          bias.is_defined() ? bias.raw_data() : nullptr,
          a.dtype(),
          b.dtype(),
          c.dtype(),
          bias.is_defined() ? bias.dtype() : dtype};
}

// c = a b + bias, computed in a dtype that multiply_alone knows; bias is of one that it takes.
void multiply_arrays(const Array& a, const Array& b, const Array& bias, kernels::MatmulOptions options, const Array& c,
                     Dtype dtype) {
  const Matrix x(a, options.transa), y(b, options.transb), z(c, false);
  if (!x.is_usable()) return multiply_arrays(a.contiguous(), b, bias, options, c, dtype);
  if (!y.is_usable()) return multiply_arrays(a, b.contiguous(), bias, options, c, dtype);
  if (z.column_stride != 1 || z.row_stride < z.columns) {
    const Array result = empty(c.shape(), c.dtype());
    multiply_arrays(a, b, bias, options, result, dtype);
    return c.copy_from(result);
  }
  const Array flat_bias = bias.is_defined() ? bias.contiguous() : bias;
  const MatrixProduct p = product_of(a, x, b, y, flat_bias, c, z, dtype);
  if (c.ndim() == 2) {
    multiply(p);
  } else if (b.ndim() == 2 && !options.transa && a.ndim() == c.ndim() && a.is_contiguous() && c.is_contiguous() &&
             a.size() / x.columns == c.size() / z.columns) {  // one tall matrix
    MatrixProduct tall = p;
    tall.m = a.size() / x.columns;
    multiply(tall);
  } else {
    multiply_batch(p, Batch(a, b, c));
  }
}

// Integers wrap around, as NumPy's do.
void multiply_integers(const Array& a, const Array& b, const Array& bias, kernels::MatmulOptions options,
                       const Array& c) {
  const auto to_matrices = [](const Array& x, bool transposed) {
    const Array wide = x.astype(Dtype::int64);
    return (transposed ? wide.swapaxes(-2, -1) : wide).contiguous();
  };
  const Array x = to_matrices(a, options.transa), y = to_matrices(b, options.transb);
  const Array z = zeros(c.shape(), Dtype::int64);
  if (bias.is_defined()) z.copy_from(bias);
  const Batch batch(x, y, z);
  const int64_t m = z.shape(-2), n = z.shape(-1), depth = x.shape(-1);
  for (int64_t i = 0; i < batch.size(); ++i) {
    const int64_t* const left = x.data<int64_t>() + batch.offset(0, i);
    const int64_t* const right = y.data<int64_t>() + batch.offset(1, i);
    uint64_t* const out = z.data<uint64_t>() + batch.offset(2, i);
    for (int64_t row = 0; row < m; ++row) {
      for (int64_t p = 0; p < depth; ++p) {
        const auto factor = static_cast<uint64_t>(left[row * depth + p]);
        for (int64_t j = 0; j < n; ++j) out[row * n + j] += factor * static_cast<uint64_t>(right[p * n + j]);
      }
    }
  }
  c.copy_from(z);
}

// Whether oneDNN multiplies bfloat16 here: asked once, with the smallest product. On x86-64 without the instructions it
// would do so by widening every factor again and again.
bool has_bfloat16_products() {
  static const bool has = [] {
#if defined(__x86_64__)
    if (!has_bfloat16_dot()) return false;
#endif
    const uint16_t zero = 0;
    uint16_t result = 0;
    return multiply_with_onednn({Dtype::bfloat16, 1, 1, 1, &zero, 1, 1, &zero, 1, 1, &result, 1, nullptr});
  }();
  return has;
}

Dtype compute_dtype(const Array& a, const Array& b, const Array& c) {
  const Array* const arrays[] = {&a, &b, &c};
  const auto any = [&](auto property) { return std::any_of(arrays, arrays + 3, property); };
  if (any([](const Array* x) { return x->dtype() == Dtype::float64; })) return Dtype::float64;
  if (!any([](const Array* x) { return x->is_floating(); })) return Dtype::int64;
  const bool is_bfloat16 = a.dtype() == Dtype::bfloat16 && b.dtype() == Dtype::bfloat16;
  return is_bfloat16 && has_bfloat16_products() ? Dtype::bfloat16 : Dtype::float32;
}

void matmul(In a, In b, In bias, Params<kernels::MatmulOptions> options, Out c) {
  const Array &x = *a, &y = *b, &z = *c, &offset = *bias;
  if (z.size() == 0) return;
  if (x.size() == 0 || y.size() == 0) {
    if (offset.is_defined()) return z.copy_from(offset);
    return z.fill(0);
  }
  if (x.dtype() == Dtype::float32 && y.dtype() == Dtype::float32 && z.dtype() == Dtype::float32 &&
      (!offset.is_defined() || offset.dtype() == Dtype::float32)) [[likely]] {
    return multiply_arrays(x, y, offset, *options, z, Dtype::float32);
  }
  const Dtype dtype = compute_dtype(x, y, z);
  if (dtype == Dtype::int64) return multiply_integers(x, y, offset, *options, z);
  const auto fits = [dtype](const Array& given) {
    return given.dtype() == dtype || (dtype == Dtype::bfloat16 && given.dtype() == Dtype::float32);
  };
  const Dtype other = dtype == Dtype::bfloat16 ? Dtype::float32 : dtype;
  const Array added = !offset.is_defined() || fits(offset) ? offset : offset.astype(other);
  if (dtype != Dtype::bfloat16 || fits(z)) return multiply_arrays(x, y, added, *options, z, dtype);
  const Array result = empty(z.shape(), other);
  multiply_arrays(x, y, added, *options, result, dtype);
  z.copy_from(result);
}

// Packing bfloat16 matrices passes over all of a anyway.
bool multiply_and_sum(const Array& a, const Array& b, kernels::MatmulOptions options, const Array& c,
                      const Array& sums) {
  const auto fits = [](const Array& x) { return x.ndim() == 2 && x.size() > 0 && x.dtype() == Dtype::bfloat16; };
  if (!options.transa || !fits(a) || !fits(b) || !fits(c)) return false;
  const Matrix x(a, true), y(b, options.transb), z(c, false);
  if (x.row_stride != 1 || !x.is_usable() || !y.is_usable() || !z.is_usable() || z.column_stride != 1) return false;
  const Scratch<float> wide(x.rows);
  if (!multiply_by_pairs(product_of(a, x, b, y, Array(), c, z, Dtype::bfloat16), wide.get())) return false;
  const Array result = sums.is_contiguous() ? sums : empty(sums.shape(), sums.dtype());
  convert_loop(Dtype::float32, sums.dtype())(wide.get(), result.raw_data(), x.rows);
  if (!result.is_same(sums)) sums.copy_from(result);
  return true;
}

void matmul_with_sums(In a, In b, Params<kernels::MatmulOptions> options, Out c, Out sums) {
  if (multiply_and_sum(*a, *b, *options, *c, *sums)) return;
  matmul(a, b, Array(), options, c);
  launch<kernels::Reduction<kernels::Sum>>(a->device(), kernels::Sum{}, AxisMask::of(options->transa ? 0 : 1), a, sums);
}

}  // namespace

void register_matmul(Backend& backend) {
  backend.add<kernels::Matmul>(matmul);
  backend.add<kernels::MatmulWithSums>(matmul_with_sums);
}

}  // namespace kusari::cpu
