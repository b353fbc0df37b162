#include "kusari/framework/functions/math/inv.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/kernels/linear_algebra.h"

namespace kusari::functions {
namespace {

class Inv final : public FunctionNode {
 public:
  explicit Inv(int ndim) : ndim_{ndim} {}
  const char* name() const override { return ndim_ == 2 ? "inv" : "batch_inv"; }
  void describe(Attributes& options) const override { options.set("ndim", ndim_); }

 private:
  void check(const TypeCheck& c) const override {
    const auto [a] = c.args("a");
    c.expect(a.is_floating(), a.ndim() == ndim_, a.shape(-2) == a.shape(-1));
  }
  Arrays forward(const ArrayRefs& in) override {
    retain_outputs({0});
    const Array y = empty(in[0].shape(), in[0].dtype(), in[0].device());
    const char* const call = ndim_ == 2 ? "F::inv" : "F::batch_inv";
    launch<kernels::Inverse>(y.device(), kernels::MatrixCall{call}, in[0], y);
    return {y};
  }
  Variables backward(const Variables& gy) override {
    const Variable y = retained_output(0);
    return {-matmul(matmul(y, gy[0], {.transa = true}), y, {.transb = true})};
  }

  int ndim_;
};

}  // namespace

Variable inv(const Variable& a) { return apply<Inv>({a}, 2); }

Variable batch_inv(const Variable& a) { return apply<Inv>({a}, 3); }

}  // namespace kusari::functions
