#include "kusari/framework/functions/noise/zoneout.h"

#include <string>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/number_text.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/random.h"

namespace kusari::functions {
namespace {

class Zoneout final : public FunctionNode {
 public:
  explicit Zoneout(double ratio) : ratio_{ratio} {}
  const char* name() const override { return "zoneout"; }
  void describe(Attributes& options) const override { options.set("ratio", ratio_); }

 private:
  void check(const TypeCheck& c) const override {
    const auto [h, x] = c.args("h", "x");
    c.expect(x.is_floating(), h.dtype() == x.dtype(), h.shape() == x.shape());
  }

  Arrays forward(const ArrayRefs& in) override {
    const Array &h = in[0], &x = in[1];
    const Array u = empty(x.shape(), Dtype::float32, x.device());
    const RandomState state = random::reserve(static_cast<uint64_t>(x.size()));
    launch<kernels::Uniform>(x.device(), kernels::UniformRange{}, state, u);
    is_new_ = pointwise(kernels::GreaterEqualConst{ratio_}, u);
    return {pointwise_as(x.dtype(), kernels::Where{}, is_new_, x, h)};
  }

  Variables backward(const Variables& gy) override {
    const Array zero = zeros({}, gy[0].dtype(), gy[0].device());
    return {needs_grad(0) ? where(is_new_, zero, gy[0]) : Variable(),
            needs_grad(1) ? where(is_new_, gy[0], zero) : Variable()};
  }

  double ratio_;
  Array is_new_;
};

}  // namespace

Variable zoneout(const Variable& h, const Variable& x, double ratio) {
  if (!(ratio >= 0 && ratio <= 1)) {
    throw ValueError("F::zoneout: ratio " + general_text(ratio) + " must be in [0, 1]");
  }
  return config().train ? apply<Zoneout>({h, x}, ratio) : x;
}

}  // namespace kusari::functions
