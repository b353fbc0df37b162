#include "kusari/framework/functions/math/solve.h"

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/functions/array/expand_dims.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/functions/math/matrix_gradients.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/kernels/decompositions.h"

namespace kusari::functions {
namespace {

Shape with_matrix(Shape batch, int64_t rows, int64_t columns) {
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}

class Solve final : public FunctionNode {
 public:
  const char* name() const override { return "solve"; }

 private:
  void check(const TypeCheck& c) const override {
    const auto [a, b] = c.args("a", "b");
    c.expect(a.is_floating(), b.dtype() == a.dtype(), a.ndim() >= 2, a.shape(-2) == a.shape(-1), b.ndim() >= 1,
             b.shape(b.array().ndim() == 1 ? -1 : -2) == a.shape(-1));
  }
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0});
    retain_outputs({0});
    const bool is_vector = in[1].ndim() == 1;
    const Array& a = in[0];
    const Array b = is_vector ? in[1].expand_dims(1) : in[1];
    const int64_t n = a.shape(-1), m = b.shape(-1);
    const Shape batch = broadcast_shapes(Shape(a.shape().begin(), a.shape().end() - 2),
                                         Shape(b.shape().begin(), b.shape().end() - 2), "F::solve");
    const Array x = empty(with_matrix(batch, n, m), a.dtype(), a.device());
    launch<kernels::SolveLinear>(x.device(), kernels::MatrixCall{"F::solve"}, a.broadcast_to(with_matrix(batch, n, n)),
                                 b.broadcast_to(x.shape()), x);
    return {is_vector ? x.squeeze(-1) : x};
  }
  Variables backward(const Variables& gy) override {
    const bool is_vector = input_shape(1).ndim() == 1;
    const auto columns = [&](const Variable& v) { return is_vector ? expand_dims(v, -1) : v; };
    const Variable a = retained_input(0), gb = solve(transposed(a), columns(gy[0]));
    Variables gx(2);
    if (needs_grad(0)) gx[0] = sum_to(matmul(-gb, columns(retained_output(0)), {.transb = true}), a.shape());
    if (needs_grad(1)) {
      const Shape& shape = input_shape(1);
      gx[1] = reshape(sum_to(gb, is_vector ? Shape{shape[0], 1} : shape), shape);
    }
    return gx;
  }
};

}  // namespace

Variable solve(const Variable& a, const Variable& b) { return apply<Solve>({a, b}); }

}  // namespace kusari::functions
