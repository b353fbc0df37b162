#include "kusari/framework/functions/array/separate.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/functions/array/stack.h"
#include "kusari/framework/functions/given.h"

namespace kusari::functions {
namespace {

class Separate final : public FunctionNode {
 public:
  explicit Separate(int axis) : axis_{axis} {}
  const char* name() const override { return "separate"; }
  void describe(Attributes& options) const override { options.set("axis", axis_); }

 private:
  Arrays forward(const ArrayRefs& in) override {
    dtype_ = in[0].dtype();
    device_ = in[0].device();
    const int64_t count = in[0].shape()[axis_];
    Arrays slices;
    slices.reserve(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) slices.push_back(in[0].slice(axis_, i, 1).squeeze(axis_));
    return slices;
  }

  Variables backward(const Variables& gy) override {
    Shape shape = input_shape(0);
    shape.erase(axis_);
    SmallVector<Variable, 8> slices;
    for (const Variable& g : gy) slices.push_back(g.is_defined() ? g : Variable(zeros(shape, dtype_, device_), false));
    return {stack(std::span<const Variable>(slices.data(), slices.size()), axis_)};
  }

  int axis_;
  Dtype dtype_ = Dtype::float32;
  Device device_;
};

}  // namespace

Variables separate(const Variable& x, int64_t axis) {
  expect_given(x, "F::separate", "x");

  return apply_all<Separate>(std::span<const Variable>(&x, 1), normalize_axis(axis, x.ndim(), "F::separate"));
}

}  // namespace kusari::functions
