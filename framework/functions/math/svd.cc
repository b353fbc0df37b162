#include "kusari/framework/functions/math/svd.h"

#include <algorithm>

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/functions/array/expand_dims.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/functions/math/matrix_gradients.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/kernels/decompositions.h"

namespace kusari::functions {
namespace {

Variable sum_of(const Variable& a, const Variable& b) { return a.is_defined() ? a + b : b; }

class Svd final : public FunctionNode {
 public:
  const char* name() const override { return "svd"; }

 private:
  void check(const TypeCheck& c) const override {
    const auto [a] = c.args("a");
    c.expect(a.is_floating(), a.ndim() >= 2);
  }
  Arrays forward(const ArrayRefs& in) override {
    retain_outputs({0, 1, 2});
    const Array& a = in[0];
    const int64_t m = a.shape(-2), n = a.shape(-1), k = std::min(m, n);
    const auto made = [&](std::initializer_list<int64_t> last) {
      Shape shape(a.shape().begin(), a.shape().end() - 2);
      for (const int64_t size : last) shape.push_back(size);
      return empty(shape, a.dtype(), a.device());
    };
    const Array u = made({m, k}), s = made({k}), vt = made({k, n});
    launch<kernels::SingularValueDecomposition>(a.device(), a, u, s, vt);
    return {u, s, vt};
  }
  // u and v turn within the space of their columns by what is antisymmetric, over differences of s^2, and out of it
  // where they are not square (Townsend 2016, "Differentiating the singular value decomposition").
  Variables backward(const Variables& gy) override {
    const Variable u = retained_output(0), s = retained_output(1), vt = retained_output(2);
    const Variable by_column = expand_dims(s, -2), by_row = expand_dims(s, -1);
    Variable inner, left, outside;  // the gradient is (u inner + left) vt + outside
    if (gy[1].is_defined()) left = u * expand_dims(gy[1], -2);
    if (gy[0].is_defined()) {
      const Variable own = matmul(u, gy[0], {.transa = true});
      inner = over_differences(own, square(s)) * by_column;
      if (u.shape(-2) > u.shape(-1)) left = sum_of(left, (gy[0] - matmul(u, own)) / by_column);
    }
    if (gy[2].is_defined()) {
      const Variable own = matmul(gy[2], vt, {.transb = true});
      inner = sum_of(inner, over_differences(transposed(own), square(s)) * by_row);
      if (vt.shape(-1) > vt.shape(-2)) outside = matmul(u, (gy[2] - matmul(own, vt)) / by_row);
    }
    if (inner.is_defined()) left = sum_of(left, matmul(u, inner));
    const Variable ga = matmul(left, vt);
    return {outside.is_defined() ? ga + outside : ga};
  }
};

}  // namespace

SingularFactors svd(const Variable& a) {
  const Variables y = apply_all<Svd>({a});
  return {y[0], y[1], y[2]};
}

}  // namespace kusari::functions
