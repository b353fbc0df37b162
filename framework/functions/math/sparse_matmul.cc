#include "kusari/framework/functions/math/sparse_matmul.h"

#include <string>

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/take_rows.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari::functions {
namespace {

/// Places in one matrix of `size` as places in all of them, one below the other; -1 stays.
Array below_each_other(const Array& places, int64_t size) {
  if (places.ndim() == 1) return places;
  const Array given = places.astype(Dtype::int64), matrices = arange(given.shape()[0], Dtype::int64, given.device());
  const Array first = pointwise(kernels::MulConst{static_cast<double>(size)}, matrices).expand_dims(1);
  const Array none = full({}, -1, Dtype::int64, given.device());
  return pointwise(kernels::Where{}, pointwise(kernels::LessConst{0}, given), none,
                   pointwise(kernels::Add{}, given, first));
}

void check_dense(const char* name, const utils::CooMatrix& sparse, const Variable& dense) {
  const std::string prefix = std::string("F::sparse_matmul: ") + name + " ";
  if (!dense.is_defined()) throw TypeError(prefix + "is not given: it is required");
  if (!is_floating(dense.dtype())) {
    throw TypeError(prefix + "has dtype " + kusari::name(dense.dtype()) + ": " + name + ".dtype must be floating");
  }
  const int ndim = sparse.row().ndim() + 1;
  if (dense.ndim() != ndim) {
    throw TypeError(prefix + "has shape " + to_string(dense.shape()) + ": " + name + ".ndim must equal " +
                    std::to_string(ndim) + " (" + std::to_string(dense.ndim()) + " != " + std::to_string(ndim) + ")");
  }
  if (sparse.is_batch() && sparse.row().shape()[0] != dense.shape()[0]) {
    throw TypeError(prefix + "has shape " + to_string(dense.shape()) + " but there are " +
                    std::to_string(sparse.row().shape()[0]) + " sparse matrices");
  }
}

/// sparse (m, k), read transposed or not, times dense (k, n). Rows of the dense matrix are weighted and gathered.
Variable product(const utils::CooMatrix& sparse, bool transposed, const Variable& data, const Variable& dense) {
  const kernels::RowLookup lookup{.call = "F::sparse_matmul", .has_ignored = true, .ignored = -1};
  const int64_t count = sparse.is_batch() ? dense.shape()[0] : 1;
  const int64_t m = sparse.shape()[transposed ? 1 : 0], k = sparse.shape()[transposed ? 0 : 1];
  const int64_t n = dense.shape(-1), entries = sparse.row().size();
  const auto places = [&](const Array& given, int64_t size) {
    return below_each_other(given.to_device(dense.device()), size).reshape({entries});
  };
  const Array to = places(transposed ? sparse.col() : sparse.row(), m);
  const Array from = places(transposed ? sparse.row() : sparse.col(), k);
  const Dtype dtype = promote(data.dtype(), dense.dtype());
  const Variable rows = take_rows(reshape(dense, {count * k, n}), from, lookup);
  const Variable terms = cast(rows, dtype) * cast(reshape(data, {entries, 1}), dtype);
  const Variable y = add_rows(terms, to, count * m, lookup);
  return sparse.is_batch() ? reshape(y, {count, m, n}) : y;
}

[[noreturn]] void throw_inner(const Shape& a, const Shape& b, int64_t columns, int64_t rows) {
  throw TypeError("F::sparse_matmul: a has shape " + to_string(a) + " but b has shape " + to_string(b) +
                  ": their inner sizes must be equal (" + std::to_string(columns) + " != " + std::to_string(rows) +
                  ")");
}

}  // namespace

Variable sparse_matmul(const utils::CooMatrix& a, const Variable& b, const SparseMatmulOptions& options) {
  check_dense("b", a, b);
  const int64_t columns = a.shape()[options.transa ? 0 : 1], rows = b.shape(options.transb ? -1 : -2);
  if (columns != rows) throw_inner(a.shape(), b.shape(), columns, rows);
  const CompositeInputs in("sparse_matmul", {a.data(), b});
  const Variable &data = in.is_cast() ? in[0] : a.data(), &dense = in.is_cast() ? in[1] : b;
  return product(a, options.transa, data, options.transb ? swapaxes(dense, -1, -2) : dense);
}

Variable sparse_matmul(const Variable& a, const utils::CooMatrix& b, const SparseMatmulOptions& options) {
  check_dense("a", b, a);
  const int64_t columns = a.shape(options.transa ? -2 : -1), rows = b.shape()[options.transb ? 1 : 0];
  if (columns != rows) throw_inner(a.shape(), b.shape(), columns, rows);
  const CompositeInputs in("sparse_matmul", {a, b.data()});
  const Variable &dense = in.is_cast() ? in[0] : a, &data = in.is_cast() ? in[1] : b.data();
  // a b = (b^T a^T)^T.
  return swapaxes(product(b, !options.transb, data, options.transa ? dense : swapaxes(dense, -1, -2)), -1, -2);
}

}  // namespace kusari::functions
