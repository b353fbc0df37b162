#include "kusari/framework/functions/loss/softmax_cross_entropy.h"

#include <algorithm>
#include <string>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/activation/log_softmax.h"
#include "kusari/framework/functions/activation/softmax.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/expand_dims.h"
#include "kusari/framework/functions/array/masked_fill.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/math/average.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/reduce.h"
#include "kusari/framework/kernels/softmax.h"

namespace kusari::functions {
namespace {

// x with numbers where the labels do not count: 0 times what is none would be none either.
Variable without_ignored(const Variable& x, const Array& t, const SoftmaxCrossEntropyOptions& options) {
  const Array ignored = pointwise(kernels::EqualConst{static_cast<double>(options.ignore_label)}, t);
  return masked_fill(x, Variable(ignored.expand_dims(1), false), 0);
}

class SoftmaxCrossEntropy final : public FunctionNode {
 public:
  explicit SoftmaxCrossEntropy(const SoftmaxCrossEntropyOptions& options) : options_{options} {}
  const char* name() const override { return "softmax_cross_entropy"; }
  void describe(Attributes& options) const override {
    options.set("normalize", options_.normalize);
    options.set("ignore_label", options_.ignore_label);
    options.set("reduce", name_of(options_.reduce));
    if (options_.class_weight.is_defined()) options.set("class_weight", options_.class_weight);
  }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x, t] = c.args("x", "t");
    c.expect(x.is_floating(), t.is_integral(), x.ndim() >= 2, t.ndim() == x.array().ndim() - 1,
             t.shape(0) == x.shape(0));
    for (int i = 2; i < x.array().ndim(); ++i) c.expect(t.shape(i - 1) == x.shape(i));
  }

  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1});
    const Array &x = in[0], &t = in[1];
    if (is_recording() && options_.cache_score) score_ = empty_like(x);
    const Array losses = empty(t.shape(), is_half(x.dtype()) ? Dtype::float32 : x.dtype(), x.device());
    launch<kernels::SoftmaxCrossEntropy>(x.device(), kernel_options(), x, t, options_.class_weight, losses, score_);
    if (options_.reduce == Reduce::no) return {losses.astype(x.dtype())};
    divisor_ = empty({}, losses.dtype(), x.device());
    const Array loss = empty({}, x.dtype(), x.device());
    const int64_t count = options_.normalize ? 0 : std::max<int64_t>(t.shape()[0], 1);
    launch<kernels::MeanLoss>(x.device(), kernels::MeanLossOptions{options_.ignore_label, count}, losses, t, loss,
                              divisor_);
    return {loss};
  }

  Variables backward(const Variables& gy) override {
    if (config().enable_backprop) return {differentiable_gradient(gy[0]), Variable()};
    const Array x = retained_input(0).array(), t = retained_input(1).array();
    if (!score_.is_defined()) {
      score_ = empty_like(x);
      launch<kernels::Softmax>(x.device(), 1, x, score_);
    }
    const Array gx = empty_like(x);
    launch<kernels::SoftmaxCrossEntropyGrad>(x.device(), kernel_options(), score_, t, options_.class_weight,
                                             gy[0].array(), divisor_, gx);
    return {Variable(gx, false), Variable()};
  }

  // gx = g w (softmax(x) - onehot(t)), w being the weight of a label's class, 0 for an ignored label.
  Variable differentiable_gradient(const Variable& gy) {
    const Variable x = retained_input(0);
    const Array one = ones({}, x.dtype(), x.device()), minus_onehot = empty_like(x.array());
    launch<kernels::SoftmaxCrossEntropyGrad>(x.device(), kernel_options(), zeros_like(x.array()),
                                             retained_input(1).array(), options_.class_weight, one, Array(),
                                             minus_onehot);
    const Array minus_weight = reduce(kernels::Sum{}, minus_onehot, AxisMask::of(1), true);
    const Variable g =
        divisor_.is_defined() ? cast(cast(gy, divisor_.dtype()) / divisor_, gy.dtype()) : expand_dims(gy, 1);
    return g * (minus_onehot - minus_weight * softmax(without_ignored(x, retained_input(1).array(), options_)));
  }

  kernels::SoftmaxCrossEntropyOptions kernel_options() const { return {options_.ignore_label}; }

  SoftmaxCrossEntropyOptions options_;
  Array score_;    // softmax(x), if it is kept
  Array divisor_;  // of the mean, (); undefined with Reduce::no
};

void check_options(const Variable& x, const SoftmaxCrossEntropyOptions& options) {
  if (options.reduce == Reduce::sum) throw ValueError("F::softmax_cross_entropy: reduce must be mean or no");
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1)) {
    throw ValueError("F::softmax_cross_entropy: label_smoothing is " + std::to_string(options.label_smoothing) +
                     ": it must be in [0, 1]");
  }
  const Array& weight = options.class_weight;
  if (!weight.is_defined()) return;
  if (weight.ndim() != 1 || x.ndim() < 2 || weight.size() != x.shape()[1]) {
    throw ValueError("F::softmax_cross_entropy: x has shape " + to_string(x.shape()) + " but class_weight has shape " +
                     to_string(weight.shape()) + ": class_weight.shape must be (x.shape[1],)");
  }
}

void check_labels(const Variable& x, const Variable& t, int64_t ignore_label) {
  if (x.ndim() < 2) return;  // refused by the function itself
  for (const int64_t label : t.to_vector<int64_t>()) {
    if (label != ignore_label && (label < 0 || label >= x.shape()[1])) {
      throw ValueError("F::softmax_cross_entropy: label " + std::to_string(label) + " must be in [0, " +
                       std::to_string(x.shape()[1]) + ") or equal ignore_label " + std::to_string(ignore_label));
    }
  }
}

// log softmax(x), times the weights of the classes.
Variable weighted_log_softmax(const Variable& x, const Array& class_weight) {
  Variable log_p = log_softmax(x);
  if (!class_weight.is_defined()) return log_p;
  Shape shape = Shape::filled(x.ndim(), 1);
  shape[1] = x.shape()[1];
  return log_p * class_weight.reshape(shape);
}

// The loss for a distribution over the classes in which all are alike, where the labels count.
Variable uniform_target_loss(const Variable& x, const Array& t, const SoftmaxCrossEntropyOptions& options) {
  const Dtype summed = is_half(x.dtype()) ? Dtype::float32 : x.dtype();
  const auto label = static_cast<double>(options.ignore_label);
  const Array counts = pointwise(kernels::NotEqualConst{label}, t).astype(summed);
  const double share = -1.0 / static_cast<double>(std::max<int64_t>(x.shape()[1], 1));
  const Variable log_p = weighted_log_softmax(without_ignored(x, t, options), options.class_weight);
  const Variable losses = sum(cast(log_p, summed), 1) * pointwise(kernels::MulConst{share}, counts);
  if (options.reduce == Reduce::no) return cast(losses, x.dtype());
  Array divisor = full({}, static_cast<double>(std::max<int64_t>(t.shape()[0], 1)), summed, x.device());
  if (options.normalize) {
    divisor =
        pointwise(kernels::Maximum{}, reduce(kernels::Sum{}, counts, AxisMask::all(t.ndim())), ones_like(divisor));
  }
  return cast(sum(losses) / divisor, x.dtype());
}

// The loss for a distribution t over the classes.
Variable soft_target_loss(const Variable& x, const Array& t, const SoftmaxCrossEntropyOptions& options) {
  Variable losses = -sum(t * weighted_log_softmax(x, options.class_weight), 1);
  if (options.soft_target_loss == SoftTargetLoss::kl_divergence) {
    constexpr double kEpsilon = 1e-7;  // Chainer's: 0 log 0 is 0
    const Array log_t = pointwise(kernels::AddConst{kEpsilon}, t);
    pointwise_to(log_t, kernels::Log{}, log_t);
    losses = losses + reduce(kernels::Sum{}, pointwise(kernels::Mul{}, t, log_t), AxisMask::of(1));
  }
  return options.reduce == Reduce::no ? losses : mean(losses);
}

}  // namespace

Variable softmax_cross_entropy(const Variable& x, const Variable& t, const SoftmaxCrossEntropyOptions& options) {
  if (const CompositeInputs in("softmax_cross_entropy", {x, t}); in.is_cast()) {
    return softmax_cross_entropy(in[0], in[1], options);
  }
  if (!x.is_defined() || !t.is_defined()) return apply<SoftmaxCrossEntropy>({x, t}, options);  // throws
  check_options(x, options);
  if (options.class_weight.is_defined() && options.class_weight.dtype() != x.dtype()) {
    SoftmaxCrossEntropyOptions cast = options;
    cast.class_weight = options.class_weight.astype(x.dtype());
    return softmax_cross_entropy(x, t, cast);
  }
  const double smoothing = options.label_smoothing;
  if (is_floating(t.dtype()) && t.shape() == x.shape()) {
    if (x.ndim() < 2 || t.dtype() != x.dtype()) {
      throw TypeError("F::softmax_cross_entropy: x has shape " + to_string(x.shape()) + " and dtype " +
                      name(x.dtype()) + ": with a floating t, x.ndim must be at least 2 and t.dtype (" +
                      name(t.dtype()) + ") must equal x.dtype");
    }
    if (smoothing == 0) return soft_target_loss(x, t.array(), options);
    const double share = smoothing / static_cast<double>(std::max<int64_t>(x.shape()[1], 1));
    const Array kept = pointwise(kernels::MulConst{1 - smoothing}, t.array());
    return soft_target_loss(x, pointwise(kernels::AddConst{share}, kept), options);
  }
  if (config().debug) check_labels(x, t, options.ignore_label);
  Variable loss = apply<SoftmaxCrossEntropy>({x, t}, options);
  if (smoothing == 0) return loss;
  return (1 - smoothing) * loss + smoothing * uniform_target_loss(x, t.array(), options);
}

}  // namespace kusari::functions
