#include "kusari/framework/functions/loss/connectionist_temporal_classification.h"

#include <algorithm>
#include <vector>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/activation/log_softmax.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/expand_dims.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/scatter_add.h"
#include "kusari/framework/functions/array/separate.h"
#include "kusari/framework/functions/array/stack.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/loss/ctc_frames.h"
#include "kusari/framework/functions/math/average.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/logsumexp.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/connectionist_temporal_classification.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/softmax.h"

namespace kusari::functions {
namespace {

// The logarithm of the probability of what cannot happen: unlike -inf, its gradients are numbers.
constexpr double kNever = -1e30;

// The kernel's recurrences once more in differentiable functions, for gradients of gradients.
class DifferentiableAlignment {
 public:
  DifferentiableAlignment(const Variable& x, const Array& t, const Array& input_length, const Array& label_length,
                          int64_t blank)
      : x_{x}, frames_{x.shape()[0]}, batch_{x.shape()[1]}, states_{2 * t.shape()[1] + 1} {
    const std::vector<int64_t> labels = t.to_vector<int64_t>();
    input_length_ = input_length.to_vector<int64_t>();
    label_length_ = label_length.to_vector<int64_t>();
    kernels::check_label_alignment({frames_, x.shape()[2], t.shape()[1]}, labels, input_length_, label_length_);
    const size_t states = static_cast<size_t>(states_), batch = static_cast<size_t>(batch_);
    std::vector<int64_t> path(batch * states, blank);
    std::vector<double> start(batch * states, kNever), end = start, may_skip = start;
    for (size_t b = 0; b < batch; ++b) {
      int64_t* const symbols = path.data() + b * states;
      const size_t last = 2 * static_cast<size_t>(label_length_[b]);
      for (size_t s = 1; s < last; s += 2) symbols[s] = labels[b * (states / 2) + s / 2];
      for (size_t s = 3; s < last; s += 2) {
        if (symbols[s] != symbols[s - 2]) may_skip[b * states + s] = 0;
      }
      start[b * states] = 0;
      end[b * states + last] = 0;
      if (last > 0) end[b * states + last - 1] = 0;
    }
    rows_ = arange(batch_, Dtype::int64, x.device()).reshape({batch_, 1});
    path_ = array(path, {batch_, states_}, x.device());
    start_ = constant(start);
    end_ = constant(end);
    may_skip_ = constant(may_skip);
  }

  // d loss[b] / d x[t, b, v].
  Variable gradient() {
    const std::vector<uint8_t> counts = what_counts(log_total().array());
    const std::vector<uint8_t> at_first(counts.begin(), counts.begin() + batch_);
    const Array possible = array(at_first, {batch_, 1}, x_.device()).astype(Dtype::bool_);
    const Variable total = where(possible, expand_dims(log_total(), 1), zeros({batch_, 1}, x_.dtype(), x_.device()));
    Variables posterior(before_.size());
    for (size_t t = 0; t < posterior.size(); ++t) posterior[t] = exp(before_[t] + behind_[t] - total);
    const Array none = zeros(x_.shape(), x_.dtype(), x_.device());
    const Variable expected = scatter_add(none, {Slice{}, rows_, path_}, stack(posterior));
    return (exp(log_p_) - expected) * array(counts, {frames_, batch_, 1}, x_.device()).astype(x_.dtype());
  }

 private:
  // NaN is not: it shall show in gradients.
  static bool is_never(double log_p) { return log_p <= kNever / 2; }

  // log P(labels), (B). Its first call computes all ways to each state and from there.
  const Variable& log_total() {
    if (log_total_.is_defined()) return log_total_;
    log_p_ = log_softmax(x_, 2);
    const Variables emission = separate(get_item(log_p_, {Slice{}, rows_, path_}), 0);
    before_ = behind_ = Variables(emission.size());
    Variable last(start_, false);
    for (size_t t = 0; t < emission.size(); ++t) {
      before_[t] = step(last, false);
      last = before_[t] + emission[t];
    }
    last = Variable(never(states_), false);
    for (size_t t = emission.size(); t-- > 0;) {
      behind_[t] = where(is_last(t), Variable(end_, false), step(last, true)) + emission[t];
      last = behind_[t];
    }
    return log_total_ = logsumexp(before_[0] + behind_[0], 1);
  }

  Array constant(const std::vector<double>& values) const {
    return array(values, {batch_, states_}, x_.device()).astype(x_.dtype());
  }
  Array never(int64_t states) const { return full({batch_, states}, kNever, x_.dtype(), x_.device()); }

  // log(exp(stay) + exp(move) + exp(skip)), towards later states or, backward, from them.
  Variable step(const Variable& last, bool is_backward) const {
    const Array edge = never(2);
    const auto from = [&](const Variable& padded, int64_t begin) {
      return get_item(padded, {Slice{}, Slice{begin, begin + states_}});
    };
    if (!is_backward) {
      const Variable padded = concat({edge, last}, 1);
      return logsumexp(stack({from(padded, 2), from(padded, 1), from(padded, 0) + may_skip_}), 0);
    }
    const Variable padded = concat({last, edge}, 1), skip = concat({last + may_skip_, edge}, 1);
    return logsumexp(stack({from(padded, 0), from(padded, 1), from(skip, 2)}), 0);
  }

  Array is_last(size_t t) const {
    std::vector<uint8_t> flags;
    for (const int64_t length : input_length_) flags.push_back(static_cast<int64_t>(t) + 1 == length);
    return array(flags, {batch_, 1}, x_.device()).astype(Dtype::bool_);
  }

  // For each frame and sequence, whether the frame is one of a sequence whose labels fit.
  std::vector<uint8_t> what_counts(const Array& log_total) const {
    const std::vector<double> total = log_total.to_vector<double>();
    std::vector<uint8_t> counts;
    for (int64_t t = 0; t < frames_; ++t) {
      for (size_t b = 0; b < total.size(); ++b) counts.push_back(!is_never(total[b]) && t < input_length_[b]);
    }
    return counts;
  }

  Variable x_;
  int64_t frames_, batch_, states_;
  std::vector<int64_t> input_length_, label_length_;
  Array rows_, path_, start_, end_, may_skip_;
  Variable log_p_, log_total_;
  Variables before_, behind_;
};

class ConnectionistTemporalClassification final : public FunctionNode {
 public:
  explicit ConnectionistTemporalClassification(int64_t blank_symbol) : blank_{blank_symbol} {}
  const char* name() const override { return "connectionist_temporal_classification"; }
  void describe(Attributes& options) const override { options.set("blank_symbol", blank_); }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x, t, input_length, label_length] = c.args("x", "t", "input_length", "label_length");
    c.expect(x.is_floating(), x.ndim() == 3, t.is_integral(), t.ndim() == 2, t.shape(0) == x.shape(1),
             input_length.is_integral(), input_length.ndim() == 1, input_length.shape(0) == x.shape(1),
             label_length.is_integral(), label_length.ndim() == 1, label_length.shape(0) == x.shape(1));
  }

  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1, 2, 3});
    const Dtype dtype = in[0].dtype(), wide = is_half(dtype) ? Dtype::float32 : dtype;
    const Array x = in[0].astype(wide);
    const Array log_p = empty(x.shape(), x.dtype(), x.device());
    launch<kernels::LogSoftmax>(x.device(), 2, x, log_p);
    if (is_recording()) gradient_ = pointwise(kernels::Exp{}, log_p);
    const Array loss = empty({x.shape()[1]}, x.dtype(), x.device());
    launch<kernels::ConnectionistTemporalClassification>(x.device(), kernels::LabelAlignment{blank_}, log_p, in[1],
                                                         in[2], in[3], loss, gradient_);
    return {loss.astype(dtype)};
  }

  Variables backward(const Variables& gy) override {
    const Dtype dtype = input_dtype(0);
    if (!config().enable_backprop) {
      const Array g = gy[0].array().reshape({1, input_shape(0)[1], 1});
      return {pointwise_as(dtype, kernels::Mul{}, g, gradient_), Variable(), Variable(), Variable()};
    }
    const Dtype wide = gradient_.dtype();
    DifferentiableAlignment alignment(functions::cast(retained_input(0), wide), retained_input(1).array(),
                                      retained_input(2).array(), retained_input(3).array(), blank_);
    const Variable g = reshape(functions::cast(gy[0], wide), {1, input_shape(0)[1], 1});
    return {functions::cast(g * alignment.gradient(), dtype), Variable(), Variable(), Variable()};
  }

  int64_t blank_;
  Array gradient_;  // of the losses by x
};

}  // namespace

Variable connectionist_temporal_classification(std::span<const Variable> x, const Variable& t, int64_t blank_symbol,
                                               const ConnectionistTemporalClassificationOptions& options) {
  check_ctc_frames("F::connectionist_temporal_classification", x, blank_symbol);
  expect_given(t, "F::connectionist_temporal_classification", "t");
  if (options.reduce == Reduce::sum) {
    throw ValueError("F::connectionist_temporal_classification: reduce must be mean or no");
  }
  const auto lengths = [&](const Array& given, int64_t all) {
    return given.is_defined() ? given : full({x[0].shape()[0]}, all, Dtype::int32, x[0].device());
  };
  const Array input_length = lengths(options.input_length, static_cast<int64_t>(x.size()));
  const Array label_length = lengths(options.label_length, t.ndim() == 2 ? t.shape()[1] : 0);
  const Variable loss = apply<ConnectionistTemporalClassification>(
      {stack(x), t, Variable(input_length), Variable(label_length)}, blank_symbol);
  return options.reduce == Reduce::no ? loss : mean(loss);
}

}  // namespace kusari::functions
