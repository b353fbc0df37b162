#include "kusari/framework/autograd/cast.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"

namespace kusari::autograd {
namespace {

class Cast final : public FunctionNode {
 public:
  explicit Cast(Dtype dtype) : dtype_{dtype} {}
  const char* name() const override { return "cast"; }
  void describe(Attributes& options) const override { options.set("dtype", dtype_); }

 private:
  Arrays forward(const ArrayRefs& in) override { return {in[0].astype(dtype_)}; }

  Variables backward(const Variables& gy) override {
    if (!is_floating(input_dtype(0))) return {Variable()};
    return {cast(gy[0], input_dtype(0))};
  }

  Dtype dtype_;
};

}  // namespace

Variable cast(const Variable& x, Dtype dtype) {
  if (!x.is_defined()) throw TypeError("F::cast: x is not given: it is required");
  return x.dtype() == dtype ? x : apply<Cast>({x}, dtype);
}

}  // namespace kusari::autograd
