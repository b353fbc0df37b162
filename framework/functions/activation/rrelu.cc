#include "kusari/framework/functions/activation/rrelu.h"

#include <string>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/number_text.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/random.h"

namespace kusari::functions {
namespace {

// gx = gy for x >= 0, r gy otherwise: linear in gy.
class RReLUGrad final : public FunctionNode {
 public:
  explicit RReLUGrad(const Array& r) : r_{r} {}
  const char* name() const override { return "rrelu_grad"; }
  void describe(Attributes& options) const override { options.set("r", r_); }

 private:
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0});
    return {pointwise(kernels::PreluGrad{}, in[0], r_, in[1])};
  }
  Variables backward(const Variables& ggx) override {
    return {Variable(), apply<RReLUGrad>({retained_input(0), ggx[0]}, r_)};
  }

  Array r_;
};

class RReLU final : public FunctionNode {
 public:
  RReLU(double l, double u, const RReLUOptions& options) : l_{l}, u_{u}, r_{options.r}, return_r_{options.return_r} {}
  const char* name() const override { return "rrelu"; }
  void describe(Attributes& options) const override {
    options.set("l", l_);
    options.set("u", u_);
    options.set("r", r_);
  }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x] = c.args("x");
    c.expect(x.is_floating());
    if (!r_.is_defined()) return;
    const type_check::Argument r(name(), "r", &r_);
    c.expect(r.dtype() == x.dtype(), r.shape() == x.shape());
  }

  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0});
    const Array& x = in[0];
    if (!config().train) {
      r_ = full({}, (l_ + u_) / 2, x.dtype(), x.device());
    } else if (!r_.is_defined()) {
      r_ = empty_like(x);
      const RandomState state = random::reserve(static_cast<uint64_t>(x.size()));
      launch<kernels::Uniform>(x.device(), kernels::UniformRange{l_, u_}, state, r_);
    }
    if (return_r_ != nullptr) *return_r_ = r_.shape() == x.shape() ? r_ : r_.broadcast_to(x.shape()).copy();
    return {pointwise(kernels::Prelu{}, x, r_)};
  }

  // The sign of x: that of y is another one where a slope is not positive.
  Variables backward(const Variables& gy) override { return {apply<RReLUGrad>({retained_input(0), gy[0]}, r_)}; }

  double l_, u_;
  Array r_;
  Array* return_r_;
};

}  // namespace

Variable rrelu(const Variable& x, double l, double u, const RReLUOptions& options) {
  if (!(0 <= l && l < u && u < 1)) {
    throw ValueError("F::rrelu: l is " + general_text(l) + " and u is " + general_text(u) +
                     ": 0 <= l < u < 1 must hold");
  }
  return apply<RReLU>({x}, l, u, options);
}

}  // namespace kusari::functions
