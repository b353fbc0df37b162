#include "kusari/framework/functions/math/qr.h"

#include <algorithm>

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/split_axis.h"
#include "kusari/framework/functions/array/triu.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/functions/math/matrix_gradients.h"
#include "kusari/framework/kernels/decompositions.h"

namespace kusari::functions {
namespace {

class Qr final : public FunctionNode {
 public:
  const char* name() const override { return "qr"; }

 private:
  void check(const TypeCheck& c) const override {
    const auto [a] = c.args("a");
    c.expect(a.is_floating(), a.ndim() >= 2);
  }
  Arrays forward(const ArrayRefs& in) override {
    retain_outputs({0, 1});
    const Array& a = in[0];
    const int64_t k = std::min(a.shape(-2), a.shape(-1));
    const auto with_size = [&](int axis) {
      Shape shape = a.shape();
      shape[a.ndim() + axis] = k;
      return empty(shape, a.dtype(), a.device());
    };
    const Array q = with_size(-1), r = with_size(-2);
    launch<kernels::QrDecomposition>(a.device(), a, q, r);
    return {q, r};
  }
  // Walter and Lehmann 2012, "Algorithmic differentiation of linear algebra functions with application in optimum
  // experimental design". Of a = (x y) with a square x = q u, r = (u w): w = q^T y.
  Variables backward(const Variables& gy) override {
    const Variable q = retained_output(0);
    const auto given = [](const Variable& g, const Variable& like) {
      return g.is_defined() ? g : Variable(zeros_like(like.array()), false);
    };
    Variable r = retained_output(1), gq = given(gy[0], q), gr = given(gy[1], r), rest;
    const int64_t k = q.shape(-1);
    if (r.shape(-1) > k) {
      const int64_t end[] = {k};
      const Variables parts = split_axis(r, end, -1), gradients = split_axis(gr, end, -1);
      r = parts[0];
      gr = gradients[0];
      gq = gq + matmul(matmul(q, parts[1]), gradients[1], {.transb = true});
      rest = matmul(q, gradients[1]);
    }
    const Variable m = matmul(r, gr, {.transb = true}) - matmul(gq, q, {.transa = true});
    const Variable g = gq + matmul(q, tril(m) + transposed(tril(m, -1)));
    const Variable gx = transposed(solve_in_gradient("F::qr", r, transposed(g)));
    return {rest.is_defined() ? concat({gx, rest}, -1) : gx};
  }
};

}  // namespace

QrFactors qr(const Variable& a) {
  const Variables y = apply_all<Qr>({a});
  return {y[0], y[1]};
}

}  // namespace kusari::functions
