#include "kusari/framework/functions/loss/sigmoid_focal_loss.h"

#include <string>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/functions/activation/sigmoid.h"
#include "kusari/framework/functions/activation/softplus.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/masked_fill.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/kernels/array_math.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/kernels/reduce.h"
#include "kusari/framework/kernels/sigmoid_focal_loss.h"

namespace kusari::functions {
namespace {

const char* name_of_normalizer(DetectionNormalizer normalizer) {
  switch (normalizer) {
    case DetectionNormalizer::batch:
      return "batch";
    case DetectionNormalizer::images_plus_one:
      return "images_plus_one";
    case DetectionNormalizer::image:
      return "image";
    case DetectionNormalizer::positives:
      return "positives";
    case DetectionNormalizer::none:
      break;
  }
  return "none";
}

Dtype wide_of(Dtype dtype) { return dtype == Dtype::float64 ? dtype : Dtype::float32; }

// x, t, and divisors (N), of the wide dtype.
class SigmoidFocalLoss final : public FunctionNode {
 public:
  SigmoidFocalLoss(const kernels::FocalOptions& options, DetectionNormalizer normalizer)
      : options_{options}, normalizer_{normalizer} {}
  const char* name() const override { return "sigmoid_focal_loss"; }
  void describe(Attributes& options) const override {
    options.set("alpha", options_.alpha);
    options.set("gamma", options_.gamma);
    options.set("normalizer", name_of_normalizer(normalizer_));
  }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x, t, divisors] = c.args("x", "t", "divisors");
    c.expect(x.is_floating(), x.ndim() == 3, t.is_integral(), t.ndim() == 2, t.shape(0) == x.shape(0),
             t.shape(1) == x.shape(1));
  }

  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1, 2});
    const Array &x = in[0], &divisors = in[2];
    const int64_t parts = (x.shape(1) + kernels::kFocalRows - 1) / kernels::kFocalRows;
    const Array sums = empty({x.shape(0), parts}, divisors.dtype(), x.device());
    launch<kernels::SigmoidFocalLoss>(x.device(), options_, x.contiguous(), labels(in[1]), sums);
    return {xp::sum(xp::sum(sums, 1) / divisors)};
  }

  Variables backward(const Variables& gy) override {
    const Variable x = retained_input(0), divisors = retained_input(2);
    if (!config().enable_backprop) {
      const Array given = x.array().contiguous(), gx = empty(x.shape(), x.dtype(), x.device());
      launch<kernels::SigmoidFocalLossGrad>(x.device(), options_, given, labels(retained_input(1).array()),
                                            (gy[0].array() / divisors.array()).contiguous(), gx);
      return {Variable(gx, false), Variable(), Variable()};
    }
    return {composite(x, gy[0], divisors.array()), Variable(), Variable()};
  }

  // The gradient by differentiable functions, with one-hot labels.
  Variable composite(const Variable& x, const Variable& gy, const Array& divisors) const {
    const int64_t n = x.shape()[0], classes = x.shape()[2];
    const Dtype wide = divisors.dtype();
    const Array t = labels(retained_input(1).array()).expand_dims(2);
    const Array positive = Array(t == arange(classes, Dtype::int32, x.device())).astype(wide);
    const Array counts = Array(t != int64_t{kernels::kFocalIgnored}).astype(wide);
    const Array sign = 1.0 - 2.0 * positive;
    const Array weight = counts * ((1 - options_.alpha) + (2 * options_.alpha - 1) * positive);
    const Variable s(sign, false), w(sign * weight, false);
    // 0 times the slope where x is no number would be none either.
    const Variable counted = masked_fill(x, Variable(Array(t == int64_t{kernels::kFocalIgnored}), false), 0);
    const Variable z = s * cast(counted, wide), p = sigmoid(z), loss = softplus(z);
    const Variable slope = exp(-options_.gamma * softplus(-z)) * (options_.gamma * (1 - p) * loss + p);
    const Variable factor = reshape(gy / Variable(divisors, false), {n, 1, 1});
    return cast(factor * (w * slope), x.dtype());
  }

  static Array labels(const Array& t) { return t.astype(Dtype::int32).contiguous(); }

  kernels::FocalOptions options_;
  DetectionNormalizer normalizer_;
};

}  // namespace

Array detection_divisors(DetectionNormalizer normalizer, const Array& t, const Array& positives, Dtype dtype) {
  const char* const kCall = "F::detection_divisors";
  expect_given(t, kCall, "t");
  if (t.ndim() != 2 || is_floating(t.dtype())) {
    throw TypeError(std::string(kCall) + ": t has shape " + to_string(t.shape()) + " and dtype " + name(t.dtype()) +
                    ": it must be (images, anchors) integers");
  }
  if (!is_floating(dtype)) {
    throw TypeError(std::string(kCall) + ": dtype is " + name(dtype) + ": it must be floating");
  }
  const int64_t n = t.shape(0);
  if (normalizer == DetectionNormalizer::none) return ones({n}, dtype, t.device());
  if (positives.is_defined() && positives.shape() != Shape{n}) {
    throw TypeError(std::string(kCall) + ": positives has shape " + to_string(positives.shape()) +
                    ": it must be (images), " + to_string(Shape{n}));
  }
  const Array counts = positives.is_defined()
                           ? positives.astype(dtype)
                           : reduce_as(dtype, kernels::Sum{}, static_cast<const Array&>(t >= 0), AxisMask::of(1));
  if (normalizer == DetectionNormalizer::image) {
    return xp::maximum(counts, 1.0) * static_cast<double>(n);
  }
  Array all = xp::sum(counts);
  if (normalizer == DetectionNormalizer::batch) all = all + 1.0;
  if (normalizer == DetectionNormalizer::images_plus_one) all = all + static_cast<double>(n);
  if (normalizer == DetectionNormalizer::positives) all = xp::maximum(all, 1.0);
  return all.broadcast_to({n}).contiguous();
}

Variable sigmoid_focal_loss(const Variable& x, const Variable& t, const SigmoidFocalLossOptions& options) {
  const char* const kCall = "F::sigmoid_focal_loss";
  expect_floating(x, kCall, "x");
  expect_given(t, kCall, "t");
  argument::require(options.alpha >= 0 && options.alpha <= 1, kCall, "alpha", options.alpha, "be in [0, 1]");
  argument::finite_not_negative(kCall, "gamma", options.gamma);
  const Dtype wide = wide_of(x.dtype());
  // What is wrong with t is the node's to say.
  const bool is_fit = t.ndim() == 2 && !is_floating(t.dtype());
  const Array divisors =
      is_fit ? detection_divisors(options.normalizer, t.array(), options.positives, wide) : ones({}, wide, x.device());
  return apply<SigmoidFocalLoss>({x, t, Variable(divisors, false)}, kernels::FocalOptions{options.alpha, options.gamma},
                                 options.normalizer);
}

}  // namespace kusari::functions
