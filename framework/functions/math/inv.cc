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
  explicit Inv(bool is_batch) : is_batch_{is_batch} {}
  const char* name() const override { return is_batch_ ? "batch_inv" : "inv"; }
  void describe(Attributes& options) const override { options.set("is_batch", is_batch_); }

 private:
  void check(const TypeCheck& c) const override {
    const auto [a] = c.args("a");
    c.expect(a.is_floating(), is_batch_ ? a.ndim() == 3 : a.ndim() >= 2, a.shape(-2) == a.shape(-1));
  }
  Arrays forward(const ArrayRefs& in) override {
    retain_outputs({0});
    const Array y = empty(in[0].shape(), in[0].dtype(), in[0].device());
    const char* const call = is_batch_ ? "F::batch_inv" : "F::inv";
    launch<kernels::Inverse>(y.device(), kernels::MatrixCall{call}, in[0], y);
    return {y};
  }
  Variables backward(const Variables& gy) override {
    const Variable y = retained_output(0);
    return {-matmul(matmul(y, gy[0], {.transa = true}), y, {.transb = true})};
  }

  bool is_batch_;
};

}  // namespace

Variable inv(const Variable& a) { return apply<Inv>({a}, false); }

Variable batch_inv(const Variable& a) { return apply<Inv>({a}, true); }

}  // namespace kusari::functions
