#include "kusari/framework/functions/attention/scaled_dot_product_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/activation/softmax.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/masked_fill.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/kernels/attention.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/random.h"

namespace kusari::functions {
namespace {

Dtype wide(Dtype dtype) { return is_half(dtype) ? Dtype::float32 : dtype; }

// What the kernel does, in differentiable functions, for gradients of gradients. `given`: q, k, v and perhaps a bias.
// `kept`: the factors of dropout, (B, heads, n, keys), undefined for none.
Variable composed(const kernels::AttentionForm& form, const Variables& given, const Array& mask, const Array& lengths,
                  const Array& kept) {
  const Dtype given_dtype = given[0].dtype(), dtype = wide(given_dtype);
  const Variable q = cast(given[0], dtype);
  Variable k = cast(given[1], dtype), v = cast(given[2], dtype);
  const int64_t batch = q.shape()[0], heads = q.shape()[1], n = q.shape()[2], groups = k.shape()[1],
                keys = k.shape()[2];
  const Device& device = q.device();
  const auto for_heads = [&](const Variable& x) {
    if (groups == heads) return x;
    const int64_t width = x.shape()[3];
    const Variable grouped = reshape(x, {batch, groups, 1, keys, width});
    return reshape(broadcast_to(grouped, {batch, groups, heads / groups, keys, width}), {batch, heads, keys, width});
  };
  const Array place = host_constant([&] { return arange(keys, Dtype::int64, device); });
  if (lengths.is_defined()) {  // what is behind them may be no number
    const Array behind = place.reshape({1, 1, keys, 1}) >= lengths.reshape({batch, 1, 1, 1});
    k = masked_fill(k, Variable(behind, false), 0);
    v = masked_fill(v, Variable(behind, false), 0);
  }
  Variable scores = matmul(q, for_heads(k), {.transb = true}) * form.scale;
  Array seen;  // true where a query sees a key
  const auto restrict_to = [&](const Array& allowed) {
    seen = seen.is_defined() ? (seen * allowed).astype(Dtype::bool_) : allowed;
  };
  if (mask.is_defined() && mask.dtype() == Dtype::bool_) restrict_to(mask);
  const auto add = [&](const Variable& added) {
    restrict_to(added.array() != -std::numeric_limits<double>::infinity());  // as for the kernel, where all keys may be
    scores = scores + added;
  };
  if (mask.is_defined() && mask.dtype() != Dtype::bool_) add(Variable(mask.astype(dtype), false));
  if (given.size() > 3) add(cast(given[3], dtype));
  if (lengths.is_defined()) restrict_to(place.reshape({1, 1, 1, keys}) < lengths.reshape({batch, 1, 1, 1}));
  if (form.is_causal) {
    const Array last = host_constant([&] { return arange(n, Dtype::int64, device) + (keys - n); });
    const Array queries = last.reshape({1, 1, n, 1}), all = place.reshape({1, 1, 1, keys});
    restrict_to(all <= queries);
    if (form.window > 0) restrict_to(queries - all < form.window);
  }
  if (seen.is_defined()) {
    seen = seen.broadcast_to(scores.shape());
    const Array never = full({}, -1e30, dtype, device);
    scores = where(Variable(seen, false), scores, broadcast_to(Variable(never, false), scores.shape()));
  }
  Variable weights = softmax(scores, 3);
  if (seen.is_defined()) weights = weights * Variable(seen.astype(dtype), false);
  if (kept.is_defined()) weights = weights * Variable(kept.astype(dtype), false);
  return cast(matmul(weights, for_heads(v)), given_dtype);
}

// The factors that the kernel multiplies weights by.
Array factors_of(const kernels::AttentionForm& form, RandomState state, const Shape& shape, Dtype dtype,
                 const Device& device) {
  const Array all = ones(shape, dtype, device), kept = empty(shape, dtype, device),
              unused = empty(shape, dtype, device);
  launch<kernels::Dropout>(device, kernels::DropoutRatio{form.dropout}, state, all, unused, kept);
  return kept;
}

// A result whose axes lie in memory in the order of those of `like`: heads that were split off rows without moving them
// come together again without it. The last axis is the innermost one.
Array empty_in_order(const Shape& shape, const Array& like) {
  const Strides& s = like.strides();
  if (!like.device().is_cpu() || s[3] != 1) return empty(shape, like.dtype(), like.device());
  int order[] = {0, 1, 2};
  std::stable_sort(order, order + 3, [&](int a, int b) { return s[a] > s[b]; });
  Strides strides = s;
  int64_t step = shape[3];
  for (int i = 2; i >= 0; --i) {
    strides[order[i]] = step;
    step *= shape[order[i]];
  }
  return empty_strided(shape, strides, like.dtype(), like.device());
}

class ScaledDotProductAttention final : public FunctionNode {
 public:
  ScaledDotProductAttention(const kernels::AttentionForm& form, Array mask, Array lengths)
      : form_{form}, mask_{std::move(mask)}, lengths_{std::move(lengths)} {}
  const char* name() const override { return "scaled_dot_product_attention"; }
  void describe(Attributes& options) const override {
    options.set("scale", form_.scale);
    options.set("dropout", form_.dropout);
    options.set("is_causal", form_.is_causal);
    options.set("window", form_.window);
    if (mask_.is_defined()) options.set("mask", mask_);
    if (lengths_.is_defined()) options.set("lengths", lengths_);
  }

 private:
  bool is_optional(size_t input) const noexcept override { return input == kBias; }
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1, 2, kBias});
    retain_outputs({0});
    const Device& device = in[0].device();
    const Shape& q = in[0].shape();
    const Array y = empty_in_order({q[0], q[1], q[2], in[2].shape()[3]}, in[0]);
    if (form_.dropout > 0) {
      state_ = random::reserve(static_cast<uint64_t>(q[0] * q[1] * q[2] * in[1].shape()[2]));
      stream_ = empty({2}, Dtype::int64, device);
      launch<kernels::RandomPlace>(device, state_, stream_);
    }
    if (is_recording()) {
      lse_ = empty({q[0], q[1], q[2]}, wide(in[0].dtype()), device);
    }
    launch<kernels::Attention>(device, form_, in[0], in[1], in[2], mask_beside(in[kBias], in[0], in[1]), lengths_,
                               stream_, y, lse_);
    return {y};
  }

  // What the kernels take: they know one array that is added to scores.
  Array mask_beside(const Array& bias, const Array& q, const Array& k) const {
    if (!bias.is_defined()) return mask_;
    const Shape full{q.shape()[0], q.shape()[1], q.shape()[2], k.shape()[2]};
    if (!mask_.is_defined()) return bias.broadcast_to(full);
    const Dtype dtype = wide(q.dtype());
    const Array added = bias.astype(dtype).broadcast_to(full);
    if (mask_.dtype() != Dtype::bool_) return added + mask_.astype(dtype);
    const Array never = kusari::full({}, -std::numeric_limits<double>::infinity(), dtype, q.device());
    return pointwise_as(dtype, kernels::Where{}, mask_, added, never.broadcast_to(full));
  }

  Variables backward(const Variables& gy) override {
    if (config().enable_backprop) return differentiable_gradient(gy[0]);
    const Array q = retained_input(0).array(), k = retained_input(1).array(), v = retained_input(2).array();
    const Array gq = empty_in_order(q.shape(), q), gk = empty_in_order(k.shape(), k), gv = empty_in_order(v.shape(), v);
    const Array y = retained_output(0).array(),
                mask = has_input(kBias) ? mask_beside(retained_input(kBias).array(), q, k) : mask_;
    launch<kernels::AttentionGradient>(q.device(), form_, q, k, v, mask, lengths_, y, lse_, stream_, gy[0].array(), gq,
                                       gk, gv);
    if (!needs_grad(kBias)) return {gq, gk, gv, Variable()};
    Shape sizes{1, 1, 1, 1};
    for (int i = 0; i < input_shape(kBias).ndim(); ++i)
      sizes[4 - input_shape(kBias).ndim() + i] = input_shape(kBias)[i];
    const Array sums = empty(sizes, lse_.dtype(), q.device());
    launch<kernels::AttentionBiasGradient>(q.device(), form_, q, k, v, mask, lengths_, y, lse_, stream_, gy[0].array(),
                                           sums);
    return {gq, gk, gv, sums.reshape(input_shape(kBias)).astype(input_dtype(kBias))};
  }

  Variables differentiable_gradient(const Variable& gy) {
    Variables inputs{retained_input(0), retained_input(1), retained_input(2)};
    if (has_input(kBias)) inputs.push_back(retained_input(kBias));
    const Shape& q = inputs[0].shape();
    const Array kept = form_.dropout > 0 ? factors_of(form_, state_, {q[0], q[1], q[2], inputs[1].shape()[2]},
                                                      input_dtype(0), inputs[0].device())
                                         : Array();
    const Variable y = composed(form_, inputs, mask_, lengths_, kept);
    Variables gradients = grad({&y, 1}, inputs, {.grad_outputs = {&gy, 1}, .enable_double_backprop = true});
    gradients.resize(4);
    return gradients;
  }

  static constexpr int kBias = 3;

  kernels::AttentionForm form_;
  Array mask_, lengths_, lse_, stream_;
  RandomState state_;
};

[[noreturn]] void refuse_shape(const char* argument, const Shape& shape, const std::string& rule) {
  throw TypeError(std::string("F::scaled_dot_product_attention: ") + argument + " has shape " + to_string(shape) +
                  ": " + rule);
}

void check_lengths(const char* call, const Array& lengths, int64_t keys) {
  const std::vector<int64_t> numbers = lengths.to_vector<int64_t>();
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] >= 0 && numbers[i] <= keys) continue;
    throw ValueError(std::string(call) + ": lengths[" + std::to_string(i) + "] is " + std::to_string(numbers[i]) +
                     ": it must be in [0, " + std::to_string(keys) + "], the number of keys");
  }
}

void check(const Variable& q, const Variable& k, const Variable& v, const AttentionOptions& options) {
  const char* const call = "F::scaled_dot_product_attention";
  expect_floating(q, call, "q");
  for (const auto& [x, argument] : {std::pair{&k, "k"}, std::pair{&v, "v"}}) {
    expect_given(*x, call, argument);
    if (x->dtype() == q.dtype()) continue;
    throw TypeError(std::string(call) + ": " + argument + " has dtype " + name(x->dtype()) + " and q " +
                    name(q.dtype()) + ": they must be equal");
  }
  for (const auto& [x, argument] : {std::pair{&q, "q"}, std::pair{&k, "k"}, std::pair{&v, "v"}}) {
    if (x->ndim() != 4) refuse_shape(argument, x->shape(), "it must have four axes, (batch, heads, places, width)");
  }
  const Shape &qs = q.shape(), &ks = k.shape(), &vs = v.shape();
  if (ks[0] != qs[0] || ks[3] != qs[3]) {
    refuse_shape("k", ks, "batch and width must be those of q, " + to_string(qs));
  }
  if (vs[0] != ks[0] || vs[1] != ks[1] || vs[2] != ks[2]) {
    refuse_shape("v", vs, "all axes but the last must be those of k, " + to_string(ks));
  }
  if (ks[1] == 0 ? qs[1] != 0 : qs[1] % ks[1] != 0) {
    refuse_shape("k", ks, "the heads of q, " + std::to_string(qs[1]) + ", must be a multiple of its heads");
  }
  if (options.scale) argument::finite_positive(call, "scale", *options.scale);
  argument::zero_to_below_one(call, "dropout", options.dropout);
  if (options.window) {
    argument::positive(call, "window", *options.window);
    argument::require(options.is_causal, call, "window", *options.window, "come with is_causal");
  }
  const Shape full{qs[0], qs[1], qs[2], ks[2]};
  const auto check_broadcast = [&](const char* argument, const Shape& shape) {
    bool fits = shape.ndim() <= 4;
    for (int i = 0; fits && i < shape.ndim(); ++i) {
      const int64_t size = shape[shape.ndim() - 1 - i];
      fits = size == 1 || size == full[3 - i];
    }
    if (!fits) refuse_shape(argument, shape, "it must broadcast to " + to_string(full));
  };
  if (const Array& mask = options.mask; mask.is_defined()) {
    if (mask.dtype() != Dtype::bool_ && !mask.is_floating()) {
      throw TypeError(std::string(call) + ": mask has dtype " + name(mask.dtype()) + ": it must be bool or floating");
    }
    check_broadcast("mask", mask.shape());
  }
  if (options.bias.is_defined()) {
    expect_floating(options.bias, call, "bias");
    check_broadcast("bias", options.bias.shape());
  }
  if (const Array& lengths = options.lengths; lengths.is_defined()) {
    if (lengths.shape() != Shape{qs[0]})
      refuse_shape("lengths", lengths.shape(), "it must be " + to_string(Shape{qs[0]}));
    if (lengths.is_floating() || lengths.dtype() == Dtype::bool_) {
      throw TypeError(std::string(call) + ": lengths has dtype " + name(lengths.dtype()) + ": it must be integral");
    }
    if (lengths.device().is_cpu() && GraphCapture::current() == nullptr) check_lengths(call, lengths, ks[2]);
  }
}

}  // namespace

Variable scaled_dot_product_attention(const Variable& q, const Variable& k, const Variable& v,
                                      const AttentionOptions& options) {
  check(q, k, v, options);
  const double width = static_cast<double>(std::max<int64_t>(q.shape()[3], 1));
  const kernels::AttentionForm form{options.scale.value_or(1 / std::sqrt(width)), config().train ? options.dropout : 0,
                                    options.is_causal, options.window.value_or(0)};
  const Shape full{q.shape()[0], q.shape()[1], q.shape()[2], k.shape()[2]};
  const Array mask = options.mask.is_defined() ? options.mask.broadcast_to(full) : Array();
  const Array lengths = options.lengths.is_defined() ? options.lengths.astype(Dtype::int64).contiguous() : Array();
  return apply<ScaledDotProductAttention>({q, k, v, options.bias}, form, mask, lengths);
}

}  // namespace kusari::functions
