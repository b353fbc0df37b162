#include "kusari/framework/functions/array/broadcast.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/sum.h"

namespace kusari::functions {
namespace {

class BroadcastTo final : public FunctionNode {
 public:
  explicit BroadcastTo(const Shape& shape) : shape_{shape} {}
  const char* name() const override { return "broadcast_to"; }
  void describe(Attributes& options) const override { options.set("shape", shape_); }

 private:
  Arrays forward(const ArrayRefs& in) override {
    return {as_function([&] { return in[0].broadcast_to(shape_); })};
  }
  Variables backward(const Variables& gy) override {
    return {cast(sum_to(gy[0], input_shape(0)), input_dtype(0))};  // sums of integers are int64
  }

  Shape shape_;
};

}  // namespace

Variable broadcast_to(const Variable& x, const Shape& shape) {
  expect_given(x, "F::broadcast_to", "x");

  return x.shape() == shape ? x : apply<BroadcastTo>({x}, shape);
}

Variables broadcast(std::span<const Variable> xs) {
  Variables ys;
  if (xs.empty()) return ys;
  expect_all_given(xs, "F::broadcast");
  Shape shape = xs[0].shape();
  for (const Variable& x : xs.subspan(1)) shape = broadcast_shapes(shape, x.shape(), "F::broadcast");
  for (const Variable& x : xs) ys.push_back(broadcast_to(x, shape));
  return ys;
}

}  // namespace kusari::functions
