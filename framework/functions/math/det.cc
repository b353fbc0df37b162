#include "kusari/framework/functions/math/det.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/functions/array/expand_dims.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/inv.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/kernels/linear_algebra.h"

namespace kusari::functions {
namespace {

// The functions below take (m, n, n).

Variable dot(const Variable& a, const Variable& b) { return sum(a * b, {1, 2}, true); }

// The gradient by a of sum(g * cofactors(a)).
class CofactorsGrad final : public FunctionNode {
 public:
  const char* name() const override { return "det_grad_grad"; }

 private:
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1});
    const Array y = empty(in[0].shape(), in[0].dtype(), in[0].device());
    launch<kernels::CofactorsGrad>(y.device(), in[0], in[1], y);
    return {y};
  }
  // By g: second derivatives are symmetric. By a: d is the determinant, b the transposed inverse, h = gy, and
  // y = d (b <g, b> - b g^T b) has the differential of the inverse in each factor.
  Variables backward(const Variables& gy) override {
    const Variable a = retained_input(0), g = retained_input(1), h = gy[0];
    Variables gx(2);
    gx[1] = apply<CofactorsGrad>({a, h});
    if (needs_grad(0)) {
      const Variable d = reshape(batch_det(a), {a.shape()[0], 1, 1}), b = transpose(batch_inv(a), {0, 2, 1});
      const auto through = [&](const Variable& p) { return matmul(matmul(b, p, {.transb = true}), b); };
      const Variable bg = through(g), bh = through(h);
      const Variable both = matmul(matmul(bg, h, {.transb = true}), b) + matmul(matmul(bh, g, {.transb = true}), b);
      gx[0] = d * (b * (dot(g, b) * dot(h, b) - dot(h, bg)) - bh * dot(g, b) - bg * dot(h, b) + both);
    }
    return gx;
  }
};

class Cofactors final : public FunctionNode {
 public:
  const char* name() const override { return "det_grad"; }

 private:
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0});
    const Array y = empty(in[0].shape(), in[0].dtype(), in[0].device());
    launch<kernels::Cofactors>(y.device(), in[0], y);
    return {y};
  }
  Variables backward(const Variables& gy) override { return {apply<CofactorsGrad>({retained_input(0), gy[0]})}; }
};

class Det final : public FunctionNode {
 public:
  explicit Det(bool is_batch) : is_batch_{is_batch} {}
  const char* name() const override { return is_batch_ ? "batch_det" : "det"; }
  void describe(Attributes& options) const override { options.set("is_batch", is_batch_); }

 private:
  void check(const TypeCheck& c) const override {
    const auto [a] = c.args("a");
    c.expect(a.is_floating(), is_batch_ ? a.ndim() == 3 : a.ndim() >= 2, a.shape(-2) == a.shape(-1));
  }
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0});
    const Array y = empty(Shape(in[0].shape().begin(), in[0].shape().end() - 2), in[0].dtype(), in[0].device());
    launch<kernels::Determinant>(y.device(), in[0], y);
    return {y};
  }
  Variables backward(const Variables& gy) override {
    const Variable a = retained_input(0);
    const int64_t n = a.shape(-1), m = gy[0].size();
    const Variable ga = reshape(gy[0], {m, 1, 1}) * apply<Cofactors>({reshape(a, {m, n, n})});
    return {reshape(ga, a.shape())};
  }

  bool is_batch_;
};

}  // namespace

Variable det(const Variable& a) { return apply<Det>({a}, false); }

Variable batch_det(const Variable& a) { return apply<Det>({a}, true); }

}  // namespace kusari::functions
