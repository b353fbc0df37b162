#include "kusari/framework/functions/math/eigh.h"

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/array/expand_dims.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/functions/math/matrix_gradients.h"
#include "kusari/framework/kernels/array_math.h"
#include "kusari/framework/kernels/symmetric_eigen.h"

namespace kusari::functions {
namespace {

class Eigh final : public FunctionNode {
 public:
  const char* name() const override { return "eigh"; }

 private:
  void check(const TypeCheck& c) const override {
    const auto [a] = c.args("a");
    c.expect(a.is_floating(), a.ndim() >= 2, a.shape(-2) == a.shape(-1));
  }
  Arrays forward(const ArrayRefs& in) override {
    retain_outputs({0, 1});
    const Array& a = in[0];
    const Array is_lower = host_constant([&] {
      const Array i = arange(a.shape(-1), Dtype::int64, a.device());
      return Array(i.expand_dims(1) >= i);
    });
    const Array values = empty(Shape(a.shape().begin(), a.shape().end() - 1), a.dtype(), a.device());
    const Array vectors = empty(a.shape(), a.dtype(), a.device());
    launch<kernels::SymmetricEigen>(a.device(), xp::where(is_lower, a, a.swapaxes(-2, -1)), values, vectors);
    return {values, vectors};
  }
  // dvalues = diag(v^T da v), dv = v f with f[i][j] = (v^T da v)[i][j] / (values[j] - values[i]) (Giles 2008, "An
  // extended collection of matrix derivative results for forward and reverse mode algorithmic differentiation").
  Variables backward(const Variables& gy) override {
    const Variable v = retained_output(1);
    Variable left;
    if (gy[0].is_defined()) left = v * expand_dims(gy[0], -2);
    if (gy[1].is_defined()) {
      const Variable turn = over_differences(matmul(v, gy[1], {.transa = true}), retained_output(0));
      const Variable turned = matmul(v, turn * 0.5);
      left = left.is_defined() ? left + turned : turned;
    }
    return {matmul(left, v, {.transb = true})};
  }
};

}  // namespace

EigenFactors eigh(const Variable& a) {
  const Variables y = apply_all<Eigh>({a});
  return {y[0], y[1]};
}

}  // namespace kusari::functions
