#include "kusari/framework/functions/connection/bilinear.h"

#include <string>

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/matmul.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari::functions {
namespace {

/// All pairs of elements of the rows: (N, J) and (N, K) give (N, J K).
Variable pairs(const Variable& a, const Variable& b) {
  const int64_t n = a.shape()[0], j = a.shape()[1], k = b.shape()[1];
  return reshape(reshape(a, {n, j, 1}) * reshape(b, {n, 1, k}), {n, j * k});
}

// e1: (N, J), e2: (N, K), W: (J, K, L), V1: (J, L), V2: (K, L), b: (L), the last three or none of them.
class Bilinear final : public FunctionNode {
 public:
  const char* name() const override { return "bilinear"; }

 private:
  bool is_optional(size_t input) const noexcept override { return input >= 3; }
  void check(const TypeCheck& c) const override {
    const auto [e1, e2, W, V1, V2, b] = c.args("e1", "e2", "W", "V1", "V2", "b");
    c.expect(W.ndim() == 3, e1.shape(0) == e2.shape(0), e1.shape(1) == W.shape(0), e2.shape(1) == W.shape(1),
             e1.is_floating(), e2.dtype() == e1.dtype(), W.dtype() == e1.dtype());
    if (!b.is_given()) return;
    c.expect(V1.ndim() == 2, V1.shape(0) == W.shape(0), V1.shape(1) == W.shape(2), V2.ndim() == 2,
             V2.shape(0) == W.shape(1), V2.shape(1) == W.shape(2), b.ndim() == 1, b.shape(0) == W.shape(2),
             V1.dtype() == e1.dtype(), V2.dtype() == e1.dtype(), b.dtype() == e1.dtype());
  }

  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1, 2});
    if (in[5].is_defined()) retain_inputs({3, 4});
    const Array &e1 = in[0], &e2 = in[1], &W = in[2];
    const int64_t n = e1.shape()[0], j = e1.shape()[1], k = e2.shape()[1], l = W.shape()[2];
    const Array both = pointwise(kernels::Mul{}, e1.reshape({n, j, 1}), e2.reshape({n, 1, k})).reshape({n, j * k});
    Array y = product(both, W.reshape({j * k, l}), in[5]);
    if (in[5].is_defined()) {
      pointwise_to(y, kernels::Add{}, y, product(e1, in[3]));
      pointwise_to(y, kernels::Add{}, y, product(e2, in[4]));
    }
    return {y};
  }

  static Array product(const Array& a, const Array& b, const Array& bias = Array()) {
    const Array y = empty({a.shape()[0], b.shape()[1]}, a.dtype(), a.device());
    launch<kernels::Matmul>(a.device(), a, b, bias, kernels::MatmulOptions{}, y);
    return y;
  }

  Variables backward(const Variables& gys) override {
    const Variable e1 = retained_input(0), e2 = retained_input(1), W = retained_input(2), gy = gys[0];
    const Shape& shape = W.shape();
    const int64_t n = e1.shape()[0], j = shape[0], k = shape[1], l = shape[2];
    Variables gradients(6);
    if (needs_grad(0) || needs_grad(1)) {
      const Variable g = reshape(matmul(gy, reshape(W, {j * k, l}), {.transb = true}), {n, j, k});  // of all pairs
      if (needs_grad(0)) gradients[0] = sum(g * reshape(e2, {n, 1, k}), 2);
      if (needs_grad(1)) gradients[1] = sum(g * reshape(e1, {n, j, 1}), 1);
    }
    if (needs_grad(2)) gradients[2] = reshape(matmul(pairs(e1, e2), gy, {.transa = true}), shape);
    if (!has_input(5)) return gradients;
    const Variable V1 = retained_input(3), V2 = retained_input(4);
    if (needs_grad(0)) gradients[0] += matmul(gy, V1, {.transb = true});
    if (needs_grad(1)) gradients[1] += matmul(gy, V2, {.transb = true});
    if (needs_grad(3)) gradients[3] = matmul(e1, gy, {.transa = true});
    if (needs_grad(4)) gradients[4] = matmul(e2, gy, {.transa = true});
    if (needs_grad(5)) gradients[5] = sum(gy, 0);
    return gradients;
  }
};

/// (N, ...) as (N, product of the others).
Variable as_rows(const Variable& e, const char* name) {
  expect_given(e, "F::bilinear", name);
  if (e.ndim() < 2) {
    throw TypeError(std::string("F::bilinear: ") + name + " has shape " + to_string(e.shape()) + ": " + name +
                    ".ndim must be at least 2 (" + std::to_string(e.ndim()) + " < 2)");
  }
  int64_t size = 1;
  for (int axis = 1; axis < e.ndim(); ++axis) size *= e.shape()[axis];
  return reshape(e, {e.shape()[0], size});
}

}  // namespace

Variable bilinear(const Variable& e1, const Variable& e2, const Variable& W, const Variable& V1, const Variable& V2,
                  const Variable& b) {
  if (V1.is_defined() != V2.is_defined() || V1.is_defined() != b.is_defined()) {
    throw ValueError("F::bilinear: V1, V2 and b must all be given or all be absent");
  }
  return apply<Bilinear>({as_rows(e1, "e1"), as_rows(e2, "e2"), W, V1, V2, b});
}

}  // namespace kusari::functions
