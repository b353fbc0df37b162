#include "kusari/framework/distributed/links/batch_moments.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/kernel.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/normalization/batch_normalization.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/kernels/axes.h"
#include "kusari/framework/kernels/batch_normalization.h"

namespace kusari::distributed {
namespace {

class BatchMoments final : public FunctionNode {
 public:
  BatchMoments(const Dims& axis, AxisMask axes, Dtype dtype) : axis_{axis}, axes_{axes}, dtype_{dtype} {}
  const char* name() const override { return "batch_moments"; }
  void describe(Attributes& options) const override {
    options.set("axis", axis_);
    options.set("dtype", dtype_);
  }
  Precision precision() const noexcept override { return Precision::untouched; }

 private:
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0});
    retain_outputs({0});
    const Array& x = in[0];
    const Shape channels = reduced_shape(x.shape(), axes_, false);
    count_ = static_cast<double>(reduced_count(x.shape(), axes_));
    if (x.size() == 0) return {zeros(channels, dtype_, x.device()), zeros(channels, dtype_, x.device())};
    const Array mean = empty(channels, dtype_, x.device()), inv_std = empty(channels, dtype_, x.device());
    const Array gamma = full(channels, 1, dtype_, x.device());  // the kernel takes the dtype of its sums from it
    launch<kernels::BatchNormalizationForward>(x.device(), kernels::BatchNormalization{.axes = axes_}, x, Array(),
                                               gamma, gamma, Array(), Array(), mean, inv_std, Array());
    return {mean, count_ / (inv_std * inv_std)};
  }

  // gmean / count + 2 gm2 (x - mean): an affine map of the channels, which one kernel computes.
  Variables backward(const Variables& gy) override {
    const Variable x = retained_input(0), mean = retained_output(0);
    if (x.size() == 0) return {Variable(zeros(x.shape(), x.dtype(), x.device()), false)};
    const Variable none(zeros(mean.shape(), dtype_, x.device()), false);
    const Variable slope = gy[1].is_defined() ? 2.0 * gy[1] : none;
    const Variable shift = gy[0].is_defined() ? gy[0] / count_ : none;
    const Variable one(full(mean.shape(), 1, dtype_, x.device()), false);
    return {kusari::functions::fixed_batch_normalization(x, slope, shift, mean, one, {.eps = 0, .axis = axis_})};
  }

  Dims axis_;
  AxisMask axes_;
  Dtype dtype_;
  double count_ = 0;
};

class ScaleGradient final : public FunctionNode {
 public:
  explicit ScaleGradient(double factor) : factor_{factor} {}
  const char* name() const override { return "scale_gradient"; }
  void describe(Attributes& options) const override { options.set("factor", factor_); }
  Precision precision() const noexcept override { return Precision::untouched; }

 private:
  Arrays forward(const ArrayRefs& in) override { return {in[0]}; }
  Variables backward(const Variables& gy) override { return {gy[0] * factor_}; }

  double factor_;
};

}  // namespace

Variables batch_moments(const Variable& x, const Dims& axis, Dtype dtype) {
  const AxisMask axes = axis_mask({axis.begin(), axis.size()}, x.ndim(), "L::BatchNormalization");
  return apply_all<BatchMoments>({x}, axis, axes, dtype);
}

Variable scale_gradient(const Variable& x, double factor) {
  return factor == 1 ? x : apply<ScaleGradient>({x}, factor);
}

}  // namespace kusari::distributed
