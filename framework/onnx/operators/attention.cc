#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/activation/softmax.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/expand_dims.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/pad.h"
#include "kusari/framework/functions/array/repeat.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/stack.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/attention/scaled_dot_product_attention.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/kernels/array_math.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/onnx/operators/common.h"
#include "kusari/framework/onnx/operators/families.h"

namespace kusari::onnx {

namespace F = functions;

namespace {

/// (B, T, heads D) as (B, heads, T, D).
Variable split_heads(const Variable& x, int64_t heads, const char* attribute) {
  if (x.ndim() == 4) return x;
  if (x.ndim() != 3 || heads < 1 || x.shape()[2] % heads != 0) {
    throw TypeError("an input has shape " + kusari::to_string(x.shape()) +
                    ": it must have 4 axes, or 3 with the last divisible by " + attribute + ", which is " +
                    std::to_string(heads));
  }
  return F::transpose(F::reshape(x, {x.shape()[0], x.shape()[1], heads, x.shape()[2] / heads}), {0, 2, 1, 3});
}
Variable join_heads(const Variable& x) {
  const Shape& s = x.shape();
  return F::reshape(F::transpose(x, {0, 2, 1, 3}), {s[0], s[2], s[1] * s[3]});
}

struct AttentionAttributes {
  bool is_causal;
  int64_t q_heads, kv_heads;
  std::optional<double> scale;
  double softcap;
  int64_t scores_mode;  ///< which scores the last output shows
  bool has_scores;
  DataType precision;  ///< of the softmax; undefined: the inputs'
};

/// Scores are added to this: 0 where a query sees a key, minus infinity elsewhere.
Array bias_of(const Array& mask, Dtype dtype, int64_t keys) {
  Array bias = mask;
  if (mask.dtype() == Dtype::bool_) {
    bias = xp::where(mask, full({}, 0, dtype, mask.device()),
                     full({}, -std::numeric_limits<double>::infinity(), dtype, mask.device()));
  }
  const int64_t missing = keys - bias.shape()[bias.ndim() - 1];
  if (missing <= 0) return bias;
  std::vector<PadWidth::Pair> pairs(static_cast<size_t>(bias.ndim()), {0, 0});
  pairs.back() = {0, missing};
  return F::pad(Variable(bias, false), PadWidth(std::span<const PadWidth::Pair>(pairs)), F::PadMode::constant,
                -std::numeric_limits<double>::infinity())
      .array();
}

/// Query i sees the keys up to `past` + i.
Array causal_bias(int64_t queries, int64_t keys, int64_t past, Dtype dtype, const Device& device) {
  return host_constant([&] {
    const Array q = arange(queries, Dtype::int64, device).reshape({queries, 1}) + past,
                k = arange(keys, Dtype::int64, device);
    return xp::where(k <= q, full({}, 0, dtype, device),
                     full({}, -std::numeric_limits<double>::infinity(), dtype, device));
  });
}

Variable each_head(const Variable& x, int64_t times) { return times == 1 ? x : F::repeat(x, times, 1); }

/// As a composition, for what the fused function does not do.
std::pair<Variable, Variable> composed(const Variable& q, const Variable& k, const Variable& v, const Array& bias,
                                       double scale, const AttentionAttributes& a) {
  const int64_t group = q.shape()[1] / k.shape()[1];
  const double root = std::sqrt(scale);
  Variable scores = F::matmul(q * root, each_head(k, group) * root, {.transb = true});
  Variable shown = scores;
  if (a.softcap > 0) {
    scores = F::tanh(scores / a.softcap) * a.softcap;
    if (a.scores_mode == 1) shown = scores;
  }
  if (bias.is_defined()) scores = scores + bias;
  if (a.scores_mode == 2) shown = scores;
  Variable weights =
      F::softmax(a.precision != DataType::undefined ? F::cast(scores, *dtype_for(a.precision)) : scores, -1);
  weights = F::cast(weights, q.dtype());
  if (a.scores_mode == 3) shown = weights;
  return {F::matmul(weights, each_head(v, group)), shown};
}

Operation attention(const NodeReader& node) {
  node.expect_inputs(3);
  AttentionAttributes a{};
  a.is_causal = node.flag("is_causal", false);
  a.q_heads = node.integer("q_num_heads", 0);
  a.kv_heads = node.integer("kv_num_heads", 0);
  if (node.has("scale")) a.scale = node.real("scale");
  a.softcap = node.real("softcap", 0);
  a.scores_mode = node.integer("qk_matmul_output_mode", 0);
  a.has_scores = node.has_output(3);
  a.precision = node.wanted_type("softmax_precision");
  return [a](const Call& call) -> Values {
    const bool joined = call.ndim(0) == 3;
    const Variable q = split_heads(call[0], a.q_heads, "q_num_heads");
    Variable k = split_heads(call[1], a.kv_heads, "kv_num_heads"), v = split_heads(call[2], a.kv_heads, "kv_num_heads");
    const int64_t past = call.has(4) ? call.shape(4)[2] : 0;
    if (call.has(4)) k = F::concat({call[4], k}, 2);
    if (call.has(5)) v = F::concat({call[5], v}, 2);
    const int64_t queries = q.shape()[2], keys = k.shape()[2];
    const double scale = a.scale.value_or(1 / std::sqrt(static_cast<double>(q.shape()[3])));

    Array bias;
    if (call.has(3)) bias = bias_of(call[3].array(), q.dtype(), keys);
    // Queries are the last of the keys, so that the function's own rule is the same.
    const bool function_is_causal = a.is_causal && keys - queries == past;
    if (a.is_causal && !function_is_causal) {
      const Array causal = causal_bias(queries, keys, past, q.dtype(), q.device());
      bias = bias.is_defined() ? bias + causal : causal;
    }
    Variable y, scores;
    if (a.softcap == 0 && !a.has_scores && scale > 0 && a.precision == DataType::undefined) {
      F::AttentionOptions options{.mask = bias, .is_causal = function_is_causal, .scale = scale};
      if (call.has(6)) options.lengths = call[6].array();
      y = F::scaled_dot_product_attention(q, k, v, options);
    } else {
      if (function_is_causal) {
        const Array causal = causal_bias(queries, keys, past, q.dtype(), q.device());
        bias = bias.is_defined() ? bias + causal : causal;
      }
      if (call.has(6)) {
        const Array places = arange(keys, Dtype::int64, q.device());
        const Array there = places < call[6].array().astype(Dtype::int64).reshape({-1, 1, 1, 1});
        const Array padding = bias_of(there, q.dtype(), keys);
        bias = bias.is_defined() ? bias + padding : padding;
      }
      std::tie(y, scores) = composed(q, k, v, bias, scale, a);
    }
    Values results{joined ? join_heads(y) : y, k, v};
    if (scores.is_defined()) results.push_back(scores);
    return results;
  };
}

Operation rotary_embedding(const NodeReader& node) {
  node.expect_inputs(3);
  const bool interleaved = node.flag("interleaved", false);
  const int64_t rotated = node.integer("rotary_embedding_dim", 0), heads = node.integer("num_heads", 0);
  return [=](const Call& call) -> Values {
    const bool joined = call.ndim(0) == 3;
    const Variable x = split_heads(call[0], heads, "num_heads");
    const int64_t size = x.shape()[3], turned = rotated > 0 ? rotated : size;
    // (B, T, D / 2), or one row for each place in the tables.
    const auto table = [&](size_t i) {
      const Variable rows = call.has(3) ? F::get_item(call[i], {call[3].array()}) : call[i];
      return F::expand_dims(rows, 1);
    };
    const Variable cos = table(1), sin = table(2);
    const Variable part = turned == size ? x : F::get_item(x, {kEllipsis, Slice{0, turned}});
    const Variable first = interleaved ? F::get_item(part, {kEllipsis, Slice{0, std::nullopt, 2}})
                                       : F::get_item(part, {kEllipsis, Slice{0, turned / 2}});
    const Variable second = interleaved ? F::get_item(part, {kEllipsis, Slice{1, std::nullopt, 2}})
                                        : F::get_item(part, {kEllipsis, Slice{turned / 2, turned}});
    const Variable real = cos * first - sin * second, imaginary = sin * first + cos * second;
    Variable y =
        interleaved ? F::reshape(F::stack({real, imaginary}, 4), part.shape()) : F::concat({real, imaginary}, 3);
    if (turned != size) y = F::concat({y, F::get_item(x, {kEllipsis, Slice{turned, size}})}, 3);
    return {joined ? join_heads(y) : y};
  };
}

/// A state of (D, E) for each head that every step reads and writes, instead of weights over all keys.
Operation linear_attention(const NodeReader& node) {
  const std::string rule = node.text("update_rule", "gated_delta");
  expect_one_of("update_rule", rule, {"linear", "gated", "delta", "gated_delta"});
  const bool gated = rule == "gated" || rule == "gated_delta", corrected = rule == "delta" || rule == "gated_delta";
  const int64_t q_heads = node.integer("q_num_heads"), kv_heads = node.integer("kv_num_heads");
  const double given_scale = node.real("scale", 0);
  return [=](const Call& call) -> Values {
    const Dtype dtype = call.dtype(0), wide = promote(dtype, Dtype::float32);
    const auto heads = [&](size_t i, int64_t count) {
      return F::cast(split_heads(call[i], count, "the number of heads"), wide);
    };
    const Variable q = heads(0, q_heads), k = heads(1, kv_heads), v = heads(2, kv_heads);
    const int64_t batch = q.shape()[0], steps = q.shape()[2], d = q.shape()[3], e = v.shape()[3];
    const double scale = given_scale != 0 ? given_scale : 1 / std::sqrt(static_cast<double>(d));
    if ((gated && !call.has(4)) || (corrected && !call.has(5)))
      throw ValueError("update_rule '" + rule + "' needs decay or beta, which are not given");
    // (B, heads, T, 1 or D)
    const Variable decay = gated ? F::exp(heads(4, kv_heads)) : Variable();
    const Variable beta = corrected ? heads(5, call.shape(5)[2] == 1 ? 1 : kv_heads) : Variable();
    Variable state =
        call.has(3) ? F::cast(call[3], wide) : Variable(zeros({batch, kv_heads, d, e}, wide, q.device()), false);
    const auto at = [](const Variable& x, int64_t t) { return F::get_item(x, {Slice{}, Slice{}, Slice{t, t + 1}}); };
    Variables ys;
    for (int64_t t = 0; t < steps; ++t) {
      const Variable k_t = F::swapaxes(at(k, t), 2, 3);  // (B, heads, D, 1)
      Variable v_t = at(v, t);
      if (gated) state = state * F::swapaxes(at(decay, t), 2, 3);
      if (corrected) v_t = at(beta, t) * (v_t - F::matmul(at(k, t), state));
      state = state + F::matmul(k_t, v_t);
      ys.push_back(F::matmul(at(q, t), each_head(state, q_heads / kv_heads)) * scale);
    }
    const Variable y = join_heads(F::concat(std::span<const Variable>(ys), 2));
    return {F::cast(y, dtype), F::cast(state, call.has(3) ? call.dtype(3) : dtype)};
  };
}

}  // namespace

std::span<const Operator> attention_operators() {
  static constexpr Operator kOperators[] = {
      {"Attention", attention},
      {"RotaryEmbedding", rotary_embedding},
      {"LinearAttention", linear_attention},
  };
  return kOperators;
}

}  // namespace kusari::onnx
