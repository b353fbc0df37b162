#include "kusari/framework/onnx/operators/attention.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/activation/softmax.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/array/broadcast.h"
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

void add_to(Array& bias, const Array& more) { bias = bias.is_defined() ? bias + more : more; }

Variable each_head(const Variable& x, int64_t times) { return times == 1 ? x : F::repeat(x, times, 1); }

/// As a composition, for what the fused function does not do.
AttentionResult composed(const Variable& q, const Variable& k, const Variable& v, const Array& bias,
                         const AttentionForm& form) {
  const int64_t group = q.shape()[1] / k.shape()[1], keys = k.shape()[2];
  const double root = std::sqrt(form.scale);
  Variable scores = F::matmul(q * root, each_head(k, group) * root, {.transb = true});
  Variable shown = scores;
  if (form.softcap > 0) {
    scores = F::tanh(scores / form.softcap) * form.softcap;
    if (form.shown == ShownScores::capped) shown = scores;
  }
  if (bias.is_defined()) scores = scores + bias;
  if (form.shown == ShownScores::masked) shown = scores;
  if (form.sink.is_defined()) {
    const Shape& s = scores.shape();
    const Variable sink = F::reshape(F::cast(form.sink, scores.dtype()), {1, s[1], 1, 1});
    scores = F::concat({scores, F::broadcast_to(sink, {s[0], s[1], s[2], 1})}, 3);
  }
  Variable weights =
      F::softmax(form.precision != DataType::undefined ? F::cast(scores, *dtype_for(form.precision)) : scores, -1);
  if (form.sink.is_defined()) weights = F::get_item(weights, {kEllipsis, Slice{0, keys}});
  weights = F::cast(weights, q.dtype());
  if (form.shown == ShownScores::weights) shown = weights;
  return {F::matmul(weights, each_head(v, group)), shown};
}

Operation attention(const NodeReader& node) {
  node.expect_inputs(3);
  const bool is_causal = node.flag("is_causal", false);
  const int64_t q_heads = node.integer("q_num_heads", 0), kv_heads = node.integer("kv_num_heads", 0);
  const std::optional<double> scale = node.has("scale") ? std::optional(node.real("scale")) : std::nullopt;
  AttentionForm fixed{};
  fixed.softcap = node.real("softcap", 0);
  fixed.precision = node.wanted_type("softmax_precision");
  if (node.has_output(3)) {
    const int64_t mode = node.integer("qk_matmul_output_mode", 0);
    fixed.shown = mode == 1   ? ShownScores::capped
                  : mode == 2 ? ShownScores::masked
                  : mode == 3 ? ShownScores::weights
                              : ShownScores::products;
  }
  return [=](const Call& call) -> Values {
    const bool joined = call.ndim(0) == 3;
    const Variable q = split_heads(call[0], q_heads, "q_num_heads");
    Variable k = split_heads(call[1], kv_heads, "kv_num_heads"), v = split_heads(call[2], kv_heads, "kv_num_heads");
    if (call.has(4)) k = F::concat({call[4], k}, 2);
    if (call.has(5)) v = F::concat({call[5], v}, 2);
    AttentionForm form = fixed;
    form.scale = scale.value_or(1 / std::sqrt(static_cast<double>(q.shape()[3])));
    if (is_causal) form.causal = call.has(4) ? call.shape(4)[2] : 0;
    if (call.has(3)) form.mask = call[3].array();
    if (call.has(6)) form.lengths = call[6].array();
    const AttentionResult result = attend(q, k, v, form);
    Values results{joined ? join_heads(result.y) : result.y, k, v};
    if (result.scores.is_defined()) results.push_back(result.scores);
    return results;
  };
}

Operation rotary_embedding(const NodeReader& node) {
  node.expect_inputs(3);
  const bool interleaved = node.flag("interleaved", false);
  const int64_t turned = node.integer("rotary_embedding_dim", 0), heads = node.integer("num_heads", 0);
  return [=](const Call& call) -> Values {
    const bool joined = call.ndim(0) == 3;
    const Variable x = split_heads(call[0], heads, "num_heads");
    // (B, T, D / 2), or one row for each place in the tables.
    const auto table = [&](size_t i) {
      const Variable rows = call.has(3) ? F::get_item(call[i], {call[3].array()}) : call[i];
      return F::expand_dims(rows, 1);
    };
    const Variable y = rotated(x, table(1), table(2), {.size = turned, .interleaved = interleaved});
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

Variable with_rows(const Variable& cache, const Variable& x, int64_t at) {
  expect_axes(cache, 3, "a cache");
  const int64_t length = cache.shape()[2], end = at + x.shape()[2];
  if (at < 0 || at > length)
    throw ValueError("a cache of " + std::to_string(length) + " keys is continued at place " + std::to_string(at));
  const auto part = [&](int64_t first, int64_t last) {
    return F::get_item(cache, {Slice{}, Slice{}, Slice{first, last}});
  };
  Variables parts;
  if (at > 0) parts.push_back(part(0, at));
  parts.push_back(x);
  if (end < length) parts.push_back(part(end, length));
  return parts.size() == 1 ? x : F::concat(std::span<const Variable>(parts), 2);
}

AttentionResult attend(const Variable& q, const Variable& k, const Variable& v, const AttentionForm& form) {
  if (k.shape()[1] < 1 || q.shape()[1] % k.shape()[1] != 0) {
    throw TypeError("there are " + std::to_string(q.shape()[1]) + " heads of queries, " + std::to_string(k.shape()[1]) +
                    " of keys: the first must be a multiple of the second");
  }
  const int64_t queries = q.shape()[2], keys = k.shape()[2];
  Array bias;
  if (form.mask.is_defined()) bias = bias_of(form.mask, q.dtype(), keys);
  const bool is_fused = form.softcap == 0 && form.shown == ShownScores::none && form.scale > 0 &&
                        form.precision == DataType::undefined && !form.sink.is_defined();
  // Where queries are the last of the keys, the function's own rule is the same.
  const bool function_is_causal = is_fused && form.causal == keys - queries;
  if (form.causal && !function_is_causal) {
    add_to(bias, causal_bias(queries, keys, *form.causal, q.dtype(), q.device()));
  }
  if (is_fused) {
    return {F::scaled_dot_product_attention(
                q, k, v, {.mask = bias, .lengths = form.lengths, .is_causal = function_is_causal, .scale = form.scale}),
            Variable()};
  }
  if (form.lengths.is_defined()) {
    const Array places = arange(keys, Dtype::int64, q.device());
    const Array there = places < form.lengths.astype(Dtype::int64).reshape({-1, 1, 1, 1});
    add_to(bias, bias_of(there, q.dtype(), keys));
  }
  AttentionResult result = composed(q, k, v, bias, form);
  if (form.shown == ShownScores::none) result.scores = Variable();
  return result;
}

Variable rotated(const Variable& x, const Variable& cos, const Variable& sin, const Rotation& rotation) {
  const int64_t size = x.shape()[3], turned = rotation.size > 0 ? rotation.size : size;
  const Variable part = turned == size ? x : F::get_item(x, {kEllipsis, Slice{0, turned}});
  const Variable first = rotation.interleaved ? F::get_item(part, {kEllipsis, Slice{0, std::nullopt, 2}})
                                              : F::get_item(part, {kEllipsis, Slice{0, turned / 2}});
  const Variable second = rotation.interleaved ? F::get_item(part, {kEllipsis, Slice{1, std::nullopt, 2}})
                                               : F::get_item(part, {kEllipsis, Slice{turned / 2, turned}});
  const Variable real = cos * first - sin * second, imaginary = sin * first + cos * second;
  Variable y =
      rotation.interleaved ? F::reshape(F::stack({real, imaginary}, 4), part.shape()) : F::concat({real, imaginary}, 3);
  if (turned == size) return y;
  const Variable rest = F::get_item(x, {kEllipsis, Slice{turned, size}});
  return F::concat({y, rest}, 3);
}

std::span<const Operator> attention_operators() {
  static constexpr Operator kOperators[] = {
      {"Attention", attention},
      {"RotaryEmbedding", rotary_embedding},
      {"LinearAttention", linear_attention},
  };
  return kOperators;
}

}  // namespace kusari::onnx
