#include "kusari/framework/autograd/add.h"

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari::autograd {
namespace {

class Add final : public FunctionNode {
 public:
  const char* name() const override { return "add"; }

 private:
  void check(const TypeCheck& c) const override {
    const auto [a, b] = c.args("a", "b");
    c.expect(a.dtype() == b.dtype(), a.shape() == b.shape());
  }

  Arrays forward(const ArrayRefs& in) override { return {pointwise(kernels::Add{}, in[0], in[1])}; }

  Variables backward(const Variables& gy) override { return {gy[0], gy[0]}; }
};

}  // namespace

Variable add(const Variable& a, const Variable& b) { return apply<Add>({a, b}); }

}  // namespace kusari::autograd
