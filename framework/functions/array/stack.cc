#include "kusari/framework/functions/array/stack.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/separate.h"
#include "kusari/framework/functions/given.h"

namespace kusari::functions {
namespace {

class Stack final : public FunctionNode {
 public:
  explicit Stack(int axis) : axis_{axis} {}
  const char* name() const override { return "stack"; }
  void describe(Attributes& options) const override { options.set("axis", axis_); }

 private:
  void check(const TypeCheck& c) const override {
    const auto first = c.arg("xs[0]", 0);
    for (size_t i = 1; i < c.size(); ++i) {
      const auto x = c.arg("xs[i]", i);
      c.expect(x.dtype() == first.dtype(), x.shape() == first.shape());
    }
  }

  Arrays forward(const ArrayRefs& in) override {
    Shape shape = in[0].shape();
    shape.insert(axis_, static_cast<int64_t>(in.size()));
    const Array y = empty(shape, in[0].dtype(), in[0].device());
    for (size_t i = 0; i < in.size(); ++i) {
      y.slice(axis_, static_cast<int64_t>(i), 1).squeeze(axis_).copy_from(in[i]);
    }
    return {y};
  }

  Variables backward(const Variables& gy) override { return separate(gy[0], axis_); }

  int axis_;
};

}  // namespace

Variable stack(std::span<const Variable> xs, int64_t axis) {
  if (xs.empty()) throw ValueError("F::stack: there must be at least one array");
  for (const Variable& x : xs) {
    if (!x.is_defined()) expect_all_given(xs, "F::stack");  // throws
  }
  return apply_all<Stack>(xs, normalize_axis(axis, xs[0].ndim() + 1, "F::stack"))[0];
}

}  // namespace kusari::functions
