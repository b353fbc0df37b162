#include "kusari/framework/functions/math/matmul.h"

#include <optional>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/kernels/matmul.h"

namespace kusari::functions {
namespace {

Shape leading_axes(const Shape& shape) { return Shape(shape.begin(), shape.end() - 2); }

// Operands with two axes or more. dtype: of the result; not given, the wider of theirs.
class MatMul final : public FunctionNode {
 public:
  MatMul(bool transa, bool transb, std::optional<Dtype> dtype) : options_{transa, transb}, dtype_{dtype} {}
  const char* name() const override { return "matmul"; }
  void describe(Attributes& options) const override {
    options.set("transa", options_.transa);
    options.set("transb", options_.transb);
    options.set("dtype", dtype_);
  }
  Precision precision() const noexcept override { return dtype_ ? Precision::untouched : Precision::listed; }

 private:
  void check(const TypeCheck& c) const override {
    const auto [a, b] = c.args("a", "b");
    c.expect(a.ndim() >= 1, b.ndim() >= 1, a.shape(options_.transa ? -2 : -1) == b.shape(options_.transb ? -1 : -2));
  }

  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1});
    const Array &a = in[0], &b = in[1];
    Shape shape = a.ndim() == 2 && b.ndim() == 2
                      ? Shape{}
                      : broadcast_shapes(leading_axes(a.shape()), leading_axes(b.shape()), "F::matmul");
    shape.push_back(a.shape()[a.ndim() - (options_.transa ? 1 : 2)]);
    shape.push_back(b.shape()[b.ndim() - (options_.transb ? 2 : 1)]);
    const Array y = empty(shape, dtype_.value_or(promote(a.dtype(), b.dtype())), a.device());
    launch<kernels::Matmul>(a.device(), a, b, Array(), options_, y);
    return {y};
  }

  Variables backward(const Variables& gy) override {
    const auto [transa, transb] = options_;
    Variables gx(2);
    if (needs_grad(0)) {
      const Variable b = retained_input(1);
      const Variable ga = transa ? product(b, gy[0], transb, true, 0) : product(gy[0], b, false, !transb, 0);
      gx[0] = cast(sum_to(ga, input_shape(0)), input_dtype(0));  // sums of integers are int64
    }
    if (needs_grad(1)) {
      const Variable a = retained_input(0);
      const Variable gb = transb ? product(gy[0], a, true, transa, 1) : product(a, gy[0], !transa, false, 1);
      gx[1] = cast(sum_to(gb, input_shape(1)), input_dtype(1));
    }
    return gx;
  }

  Variable product(const Variable& a, const Variable& b, bool transa, bool transb, size_t input) const {
    return apply<MatMul>({a, b}, transa, transb, input_dtype(input));
  }

  kernels::MatmulOptions options_;
  std::optional<Dtype> dtype_;
};

}  // namespace

Variable matmul(const Variable& a, const Variable& b, const MatmulOptions& options) {
  if (!a.is_defined() || !b.is_defined()) return apply<MatMul>({a, b}, false, false, options.dtype);  // throws
  if (a.ndim() != 1 && b.ndim() != 1) return apply<MatMul>({a, b}, options.transa, options.transb, options.dtype);
  const Variable left = a.ndim() == 1 ? reshape(a, {1, a.size()}) : a;
  const Variable right = b.ndim() == 1 ? reshape(b, {b.size(), 1}) : b;
  const bool transa = options.transa && a.ndim() != 1, transb = options.transb && b.ndim() != 1;
  const Variable y = apply<MatMul>({left, right}, transa, transb, options.dtype);
  Shape shape = y.shape();
  if (b.ndim() == 1) shape.pop_back();
  if (a.ndim() == 1) shape.erase(b.ndim() == 1 ? shape.ndim() - 1 : shape.ndim() - 2);
  return reshape(y, shape);
}

}  // namespace kusari::functions
