#include "kusari/framework/functions/array/reshape.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/functions/given.h"

namespace kusari::functions {
namespace {

class Reshape final : public FunctionNode {
 public:
  explicit Reshape(const Shape& shape) : shape_{shape} {}
  const char* name() const override { return "reshape"; }
  void describe(Attributes& options) const override { options.set("shape", shape_); }

 private:
  Arrays forward(const ArrayRefs& in) override {
    return {as_function([&] { return in[0].reshape(shape_); })};
  }
  Variables backward(const Variables& gy) override { return {reshape(gy[0], input_shape(0))}; }

  Shape shape_;
};

}  // namespace

Variable reshape(const Variable& x, const Shape& shape) {
  expect_given(x, "F::reshape", "x");
  return x.shape() == shape ? x : apply<Reshape>({x}, shape);
}

Variable flatten(const Variable& x) {
  expect_given(x, "F::flatten", "x");
  return reshape(x, {x.size()});
}

}  // namespace kusari::functions
