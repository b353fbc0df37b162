#include "kusari/framework/functions/connection/embed_id.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/take_rows.h"
#include "kusari/framework/kernels/rows.h"

namespace kusari::functions {
namespace {

class EmbedId final : public FunctionNode {
 public:
  explicit EmbedId(std::optional<int64_t> ignore_label)
      : lookup_{"F::embed_id", ignore_label.has_value(), ignore_label.value_or(0)} {}
  const char* name() const override { return "embed_id"; }
  void describe(Attributes& options) const override {
    if (lookup_.has_ignored) options.set("ignore_label", lookup_.ignored);
  }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x, W] = c.args("x", "W");
    c.expect(x.is_integral(), W.is_floating(), W.ndim() == 2);
  }

  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0});
    const Array &x = in[0], W = in[1].contiguous();
    Shape shape = x.shape();
    shape.push_back(W.shape()[1]);
    const Array y = empty(shape, W.dtype(), W.device());
    launch<kernels::TakeRows>(W.device(), lookup_, W, x.reshape({x.size()}), y.reshape({x.size(), W.shape()[1]}));
    return {y};
  }

  Variables backward(const Variables& gy) override {
    const Array x = retained_input(0).array();
    const Shape& W = input_shape(1);
    return {Variable(), add_rows(reshape(gy[0], {x.size(), W[1]}), x.reshape({x.size()}), W[0], lookup_)};
  }

  kernels::RowLookup lookup_;
};

}  // namespace

Variable embed_id(const Variable& x, const Variable& W, std::optional<int64_t> ignore_label) {
  return apply<EmbedId>({x, W}, ignore_label);
}

}  // namespace kusari::functions
