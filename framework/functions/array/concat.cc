#include "kusari/framework/functions/array/concat.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/split_axis.h"
#include "kusari/framework/functions/given.h"

namespace kusari::functions {
namespace {

class Concat final : public FunctionNode {
 public:
  explicit Concat(int axis) : axis_{axis} {}
  const char* name() const override { return "concat"; }
  void describe(Attributes& options) const override { options.set("axis", axis_); }

 private:
  void check(const TypeCheck& c) const override {
    const auto first = c.arg("xs[0]", 0);
    for (size_t i = 1; i < c.size(); ++i) {
      const auto x = c.arg("xs[i]", i);
      c.expect(x.dtype() == first.dtype(), x.ndim() == first.ndim());
      for (int axis = 0; axis < first.array().ndim(); ++axis) {
        if (axis != axis_) c.expect(x.shape(axis) == first.shape(axis));
      }
    }
  }

  Arrays forward(const ArrayRefs& in) override {
    Shape shape = in[0].shape();
    for (size_t i = 1; i < in.size(); ++i) shape[axis_] += in[i].shape()[axis_];
    bool is_image = false;  // channels-last wins over C order, as among the operands of a formula
    for (size_t i = 0; i < in.size(); ++i) is_image = is_image || (in[i].is_channels_last() && !in[i].is_contiguous());
    const Array y = is_image ? empty_channels_last(shape, in[0].dtype(), in[0].device())
                             : empty(shape, in[0].dtype(), in[0].device());
    int64_t begin = 0;
    for (size_t i = 0; i < in.size(); ++i) {
      const int64_t size = in[i].shape()[axis_];
      y.slice(axis_, begin, size).copy_from(in[i]);
      begin += size;
    }
    return {y};
  }

  Variables backward(const Variables& gy) override {
    SmallVector<int64_t, 8> ends;
    int64_t end = 0;
    for (size_t i = 0; i + 1 < input_count(); ++i) ends.push_back(end += input_shape(i)[axis_]);
    return split_axis(gy[0], std::span<const int64_t>(ends.data(), ends.size()), axis_);
  }

  int axis_;
};

}  // namespace

Variable concat(std::span<const Variable> xs, int64_t axis) {
  if (xs.empty()) throw ValueError("F::concat: there must be at least one array");
  for (const Variable& x : xs) {
    if (!x.is_defined()) expect_all_given(xs, "F::concat");  // throws
  }
  return apply_all<Concat>(xs, normalize_axis(axis, xs[0].ndim(), "F::concat"))[0];
}

}  // namespace kusari::functions
