#include "kusari/framework/functions/array/copy.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/functions/given.h"

namespace kusari::functions {
namespace {

class Copy final : public FunctionNode {
 public:
  explicit Copy(const Device& dst) : dst_{dst} {}
  const char* name() const override { return "copy"; }
  void describe(Attributes& options) const override { options.set("dst", dst_.name()); }

 private:
  Arrays forward(const ArrayRefs& in) override {
    src_ = in[0].device();
    return {in[0].device() == dst_ ? in[0].copy() : in[0].to_device(dst_)};
  }
  Variables backward(const Variables& gy) override { return {apply<Copy>({gy[0]}, src_)}; }

  Device dst_;
  Device src_;
};

}  // namespace

Variable copy(const Variable& x, const Device& dst) {
  expect_given(x, "F::copy", "x");
  return apply<Copy>({x}, dst);
}

}  // namespace kusari::functions
