#include "kusari/framework/distributions/rejection_noise.h"

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/rejection_sampling.h"

namespace kusari::distributions {
namespace {

class LogGammaSlope final : public FunctionNode {
 public:
  const char* name() const override { return kernels::LogGammaSlope::kName; }
  Precision precision() const noexcept override { return Precision::untouched; }

 private:
  Arrays forward(const ArrayRefs& in) override { return {pointwise(kernels::LogGammaSlope{}, in[0], in[1])}; }
  Variables backward(const Variables&) override {
    throw StateError("log_gamma_sample: samples of gamma, beta and Dirichlet distributions have no second derivative");
  }
};

class LogGammaSample final : public FunctionNode {
 public:
  const char* name() const override { return "log_gamma_sample"; }
  Precision precision() const noexcept override { return Precision::untouched; }

 private:
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0});
    retain_outputs({0});
    const Array y = empty(in[0].shape(), in[0].dtype(), in[0].device());
    launch<kernels::RandomLogGamma>(y.device(), random::reserve(static_cast<uint64_t>(y.size())), in[0], y);
    return {y};
  }
  Variables backward(const Variables& gy) override {
    return {gy[0] * apply<LogGammaSlope>({retained_input(0), retained_output(0)})};
  }
};

}  // namespace

Variable log_gamma_sample(const Variable& a) { return apply<LogGammaSample>({a}); }

Array poisson_noise(const Array& l) {
  const Array y = empty(l.shape(), l.dtype(), l.device());
  launch<kernels::RandomPoisson>(y.device(), random::reserve(static_cast<uint64_t>(y.size())), l, y);
  return y;
}

}  // namespace kusari::distributions
