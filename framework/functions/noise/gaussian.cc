#include "kusari/framework/functions/noise/gaussian.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/random.h"

namespace kusari::functions {
namespace {

class Gaussian final : public FunctionNode {
 public:
  explicit Gaussian(const GaussianOptions& options) : eps_{options.eps}, return_eps_{options.return_eps} {}
  const char* name() const override { return "gaussian"; }
  void describe(Attributes& options) const override {
    if (eps_.is_defined()) options.set("eps", eps_);
  }

 private:
  void check(const TypeCheck& c) const override {
    const auto [mean, ln_var] = c.args("mean", "ln_var");
    c.expect(mean.is_floating(), mean.dtype() == ln_var.dtype(), mean.shape() == ln_var.shape());
    if (!eps_.is_defined()) return;
    const type_check::Argument eps(name(), "eps", &eps_);
    c.expect(eps.dtype() == ln_var.dtype(), eps.shape() == ln_var.shape());
  }

  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({1});
    const Array &mean = in[0], &ln_var = in[1];
    if (!eps_.is_defined()) {
      eps_ = empty_like(ln_var);
      const RandomState state = random::reserve(static_cast<uint64_t>(ln_var.size()));
      launch<kernels::Normal>(ln_var.device(), kernels::NormalMoments{}, state, eps_);
    }
    if (return_eps_ != nullptr) *return_eps_ = eps_;
    const Dtype work = promote(mean.dtype(), Dtype::float32);
    const Array deviation = pointwise_as(work, kernels::MulConst{0.5}, ln_var);
    pointwise_to(deviation, kernels::Exp{}, deviation);
    return {pointwise_as(mean.dtype(), kernels::MulAdd{}, deviation, eps_, mean)};
  }

  Variables backward(const Variables& gy) override {
    if (!needs_grad(1)) return {gy[0], Variable()};
    return {gy[0], gy[0] * (exp(retained_input(1) * 0.5) * eps_) * 0.5};
  }

  Array eps_;
  Array* return_eps_;
};

}  // namespace

Variable gaussian(const Variable& mean, const Variable& ln_var, const GaussianOptions& options) {
  return apply<Gaussian>({mean, ln_var}, options);
}

}  // namespace kusari::functions
