#include "kusari/framework/functions/loss/row_scores.h"

#include <string>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/kernels/row_products.h"

namespace kusari::functions {
namespace {

Variable row_dots(const Variable& x, const Variable& W, const Array& rows, const kernels::RowLookup& lookup);
Variable row_combinations(const Variable& g, const Variable& W, const Array& rows, const kernels::RowLookup& lookup);
Variable row_sums(const Variable& g, const Variable& x, const Array& rows, int64_t n_rows,
                  const kernels::RowLookup& lookup);

// The three kernels are each other's derivatives.
class RowProduct : public FunctionNode {
 public:
  RowProduct(const Array& rows, const kernels::RowLookup& lookup) : rows_{rows}, lookup_{lookup} {}
  void describe(Attributes& options) const override {
    options.set("rows", rows_);
    if (lookup_.has_ignored) options.set("ignore_label", lookup_.ignored);
  }
  Precision precision() const noexcept override { return Precision::untouched; }

 protected:
  template <class Kernel>
  Array run(const ArrayRefs& in, const Shape& shape, Dtype dtype) {
    retain_inputs({0, 1});
    const Array y = empty(shape, dtype, in[0].device());
    launch<Kernel>(y.device(), lookup_, in[0].contiguous(), in[1].contiguous(), rows_, y);
    return y;
  }
  // The rows' gradient, in the dtype of the matrix.
  Variable sums(const Variable& g, const Variable& x, size_t matrix) const {
    if (!needs_grad(matrix)) return Variable();
    return cast(row_sums(g, x, rows_, input_shape(matrix)[0], lookup_), input_dtype(matrix));
  }

  Array rows_;
  kernels::RowLookup lookup_;
};

class RowDots final : public RowProduct {
 public:
  using RowProduct::RowProduct;
  const char* name() const override { return "row_dots"; }

 private:
  Arrays forward(const ArrayRefs& in) override { return {run<kernels::RowDots>(in, rows_.shape(), in[0].dtype())}; }
  Variables backward(const Variables& gy) override {
    return {needs_grad(0) ? row_combinations(gy[0], retained_input(1), rows_, lookup_) : Variable(),
            sums(gy[0], retained_input(0), 1)};
  }
};

class RowCombinations final : public RowProduct {
 public:
  using RowProduct::RowProduct;
  const char* name() const override { return "row_combinations"; }

 private:
  Arrays forward(const ArrayRefs& in) override {
    return {run<kernels::RowCombinations>(in, {rows_.shape()[0], in[1].shape()[1]}, in[0].dtype())};
  }
  Variables backward(const Variables& gy) override {
    return {needs_grad(0) ? row_dots(gy[0], retained_input(1), rows_, lookup_) : Variable(),
            sums(retained_input(0), gy[0], 1)};
  }
};

class RowSums final : public RowProduct {
 public:
  RowSums(const Array& rows, int64_t n_rows, const kernels::RowLookup& lookup)
      : RowProduct(rows, lookup), n_rows_{n_rows} {}
  const char* name() const override { return "row_sums"; }
  void describe(Attributes& options) const override {
    RowProduct::describe(options);
    options.set("n_rows", n_rows_);
  }

 private:
  Arrays forward(const ArrayRefs& in) override {
    return {run<kernels::RowSums>(in, {n_rows_, in[1].shape()[1]}, in[0].dtype())};
  }
  Variables backward(const Variables& gy) override {
    return {needs_grad(0) ? row_dots(retained_input(1), gy[0], rows_, lookup_) : Variable(),
            needs_grad(1) ? row_combinations(retained_input(0), gy[0], rows_, lookup_) : Variable()};
  }

  int64_t n_rows_;
};

Variable row_dots(const Variable& x, const Variable& W, const Array& rows, const kernels::RowLookup& lookup) {
  return apply<RowDots>({x, W}, rows, lookup);
}
Variable row_combinations(const Variable& g, const Variable& W, const Array& rows, const kernels::RowLookup& lookup) {
  return apply<RowCombinations>({g, W}, rows, lookup);
}
Variable row_sums(const Variable& g, const Variable& x, const Array& rows, int64_t n_rows,
                  const kernels::RowLookup& lookup) {
  return apply<RowSums>({g, x}, rows, n_rows, lookup);
}

}  // namespace

Variable row_scores(const Variable& x, const Variable& W, const Array& rows, const kernels::RowLookup& lookup) {
  const Dtype dtype = x.dtype() == Dtype::float64 || W.dtype() == Dtype::float64 ? Dtype::float64 : Dtype::float32;
  return row_dots(cast(x, dtype), W, rows, lookup);
}

void check_row_scores(const char* call, const Variable& x, const Variable& t, const Variable& W) {
  expect_given(x, call, "x");
  expect_given(t, call, "t");
  expect_given(W, call, "W");
  const std::string start = std::string(call) + ": ";
  const auto describe = [](const char* argument, const Variable& v) {
    return std::string(argument) + " has shape " + to_string(v.shape()) + " and dtype " + name(v.dtype());
  };
  if (!is_floating(x.dtype()) || x.ndim() != 2) {
    throw TypeError(start + describe("x", x) + ": it must be a floating matrix (N, D)");
  }
  if (!is_floating(W.dtype()) || W.ndim() != 2 || W.shape()[1] != x.shape()[1]) {
    throw TypeError(start + describe("W", W) + " but " + describe("x", x) + ": W must be (V, D) where x is (N, D)");
  }
  if (!is_integral(t.dtype()) || t.ndim() != 1 || t.shape()[0] != x.shape()[0]) {
    throw TypeError(start + describe("t", t) + " but " + describe("x", x) + ": t must be integers, one per row of x");
  }
}

}  // namespace kusari::functions
