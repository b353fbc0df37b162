#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/split_axis.h"
#include "kusari/framework/functions/array/stack.h"
#include "kusari/framework/functions/connection/linear.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/kernels/array_math.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/onnx/operators/attention.h"
#include "kusari/framework/onnx/operators/common.h"
#include "kusari/framework/onnx/operators/families.h"
#include "kusari/framework/onnx/operators/quantized.h"

// Attention as ONNX Runtime's optimizer and its exporters of language models write it.
namespace kusari::onnx {

namespace F = functions;

namespace {

/// What the operators' attributes have in common.
struct HeadAttributes {
  explicit HeadAttributes(const NodeReader& node)
      : heads{node.integer("num_heads")},
        is_causal{node.flag("unidirectional", false)},
        filter{node.real("mask_filter_value", -10000)} {
    if (node.has("scale") && node.real("scale") != 0) scale = node.real("scale");
    if (node.flag("do_rotary", false))
      throw ValueError("its attribute do_rotary is " + std::to_string(node.integer("do_rotary")) + ": it must be 0");
  }
  int64_t heads;
  bool is_causal;
  double filter;  ///< added to scores of keys that a mask hides
  std::optional<double> scale;
};

[[noreturn]] void throw_mask(const Variable& mask, const Shape& scores) {
  throw TypeError("a mask has shape " + kusari::to_string(mask.shape()) + ", scores " + kusari::to_string(scores) +
                  ": it must have shape (batch,), (2 * batch,), (batch, keys), (batch, queries, keys), "
                  "(batch, 1, longest, longest), or (batch, 1) or (1, 1) to hide nothing");
}

/// Whether a mask hides nothing, whatever is in it. Where there is one key, hiding it changes nothing.
bool is_dummy(const Shape& mask, int64_t batch) { return mask == Shape{batch, 1} || mask == Shape{1, 1}; }

/// Which keys a mask of integers leaves, broadcast to `scores`, (B, heads, queries, keys).
Array kept_keys(const Variable& mask, const Shape& scores) {
  const int64_t batch = scores[0], queries = scores[2], keys = scores[3];
  const Array numbers = mask.array().astype(Dtype::int64);
  const Shape& s = mask.shape();
  if (s == Shape{batch} || s == Shape{2 * batch}) {
    // Where each sequence ends and, behind these numbers, where it begins.
    const Array places = host_constant([&] { return arange(keys, Dtype::int64, mask.device()); });
    const auto column = [&](int64_t first) { return numbers.slice(0, first, batch).reshape({batch, 1, 1, 1}); };
    const Array before_end = places < column(0);
    return s[0] == batch ? before_end : before_end & (places >= column(batch));
  }
  const Array kept = numbers != 0;
  if (s == Shape{batch, keys}) return kept.reshape({batch, 1, 1, keys});
  if (s == Shape{batch, queries, keys}) return kept.reshape({batch, 1, queries, keys});
  if (s.ndim() != 4 || s[0] != batch || s[1] != 1 || s[2] < keys || s[3] < keys) throw_mask(mask, scores);
  return kept.slice(2, keys - queries, queries).slice(3, 0, keys);
}

/// past: of the keys, how many come before the first query's.
AttentionForm form_of(const HeadAttributes& a, const Variable& q, const Variable& k, int64_t past, const Variable& mask,
                      const Variable& bias) {
  AttentionForm form{};
  const Shape scores{q.shape()[0], q.shape()[1], q.shape()[2], k.shape()[2]};
  form.scale = a.scale.value_or(1 / std::sqrt(static_cast<double>(q.shape()[3])));
  if (a.is_causal) form.causal = past;
  if (mask.is_defined() && !is_dummy(mask.shape(), scores[0])) {
    const auto number = [&](double value) { return full({}, value, q.dtype(), q.device()); };
    form.mask = xp::where(kept_keys(mask, scores), number(0), number(a.filter));
  }
  if (bias.is_defined()) form.mask = form.mask.is_defined() ? form.mask + bias.array() : bias.array();
  return form;
}

/// The parts of q, k and v along the last axis.
Variables projections(const Variable& all, const std::optional<std::vector<int64_t>>& sizes) {
  expect_axes(all, 1, "the projection of queries, keys and values");
  const int64_t width = all.shape()[all.ndim() - 1];
  if (!sizes) return F::split_axis(all, 3, -1);
  if (sizes->size() != 3 || (*sizes)[0] + (*sizes)[1] + (*sizes)[2] != width) {
    throw ValueError("its attribute qkv_hidden_sizes does not add up to the " + std::to_string(width) +
                     " columns of the weights");
  }
  const std::vector<int64_t> ends{(*sizes)[0], (*sizes)[0] + (*sizes)[1]};
  return F::split_axis(all, std::span<const int64_t>(ends), -1);
}

/// Throws ValueError for an input that is given.
void expect_absent(const NodeReader& node, size_t i, const char* name) {
  if (node.has_input(i)) throw ValueError("its input " + std::string(name) + " is given, which is not supported");
}
/// The same for a past that shares memory with what follows it.
void expect_unshared(const NodeReader& node, size_t past_length) {
  if (node.flag("past_present_share_buffer", false))
    throw ValueError("its attribute past_present_share_buffer is 1: it must be 0");
  expect_absent(node, past_length, "past_sequence_length");
}

/// Attention of the projections x w + b, with keys and values of (2, B, heads, T, D) before them.
Values attend_to_itself(const HeadAttributes& a, const std::optional<std::vector<int64_t>>& sizes, const Variable& all,
                        const Variable& mask, const Variable& past, const Variable& bias, bool has_present) {
  const Variables parts = projections(all, sizes);
  const Variable q = split_heads(parts[0], a.heads, "num_heads");
  Variable k = split_heads(parts[1], a.heads, "num_heads"), v = split_heads(parts[2], a.heads, "num_heads");
  if (past.is_defined()) {
    k = F::concat({F::get_item(past, Index(0)), k}, 2);
    v = F::concat({F::get_item(past, Index(1)), v}, 2);
  }
  Values results{join_heads(attend(q, k, v, form_of(a, q, k, k.shape()[2] - q.shape()[2], mask, bias)).y)};
  if (has_present) results.push_back(F::stack({k, v}, 0));
  return results;
}

Operation microsoft_attention(const NodeReader& node) {
  node.expect_inputs(2);
  expect_unshared(node, 6);
  return [a = HeadAttributes(node), sizes = node.integers("qkv_hidden_sizes"),
          has_present = node.has_output(1)](const Call& call) -> Values {
    Variable all = F::matmul(call[0], call[1]);
    if (call.has(2)) all = all + call[2];
    return attend_to_itself(a, sizes, all, call[3], call[4], call[5], has_present);
  };
}

Operation qattention(const NodeReader& node) {
  node.expect_inputs(5);
  expect_unshared(node, 9);
  return [a = HeadAttributes(node), has_present = node.has_output(1)](const Call& call) -> Values {
    const Variable q = call[0];
    const Variable x = dequantized(q, beside(call[3], q, -1), beside(call[6], q, -1));
    const Variable all = F::linear(x, dequantized_columns(call[1], call[4], call[7]), call[2], {.n_batch_axes = 2});
    return attend_to_itself(a, std::nullopt, all, call[5], call[8], Variable(), has_present);
  };
}

/// Where an operator has its inputs.
struct Places {
  size_t bias, mask, attention_bias, past, past_length;
};

/// Part i of (B, T, heads, parts, D): (B, T, heads D).
Variable packed_part(const Variable& all, int64_t i) {
  const Shape& s = all.shape();
  return F::reshape(F::get_item(all, {Slice{}, Slice{}, Slice{}, i}), {s[0], s[1], s[2] * s[4]});
}

Operation multi_head_attention(const NodeReader& node, const Places& places) {
  node.expect_inputs(1);
  const ShownScores shown = node.has_output(3) ? ShownScores::masked : ShownScores::none;
  return [=, a = HeadAttributes(node)](const Call& call) -> Values {
    Variable q = call[0], k = call[1], v = call[2];
    expect_axes(q, 3, "query");
    if (q.ndim() == 5) {
      k = packed_part(call[0], 1);
      v = packed_part(call[0], 2);
      q = packed_part(call[0], 0);
    } else if (!k.is_defined()) {
      const Variables parts = projections(q, std::nullopt);
      q = parts[0];
      k = parts[1];
      v = parts[2];
    } else if (k.ndim() == 5) {
      v = packed_part(call[1], 1);
      k = packed_part(call[1], 0);
    }
    if (!v.is_defined()) throw TypeError("value is missing");
    if (call.has(places.bias)) {
      const int64_t width = q.shape()[q.ndim() - 1];
      const std::vector<int64_t> ends{width, 2 * width};
      const Variables biases = F::split_axis(call[places.bias], std::span<const int64_t>(ends), 0);
      q = q + biases[0];
      // Keys and values of another sequence, by heads already, have theirs.
      if (k.ndim() == 3) k = k + biases[1];
      if (v.ndim() == 3) v = v + biases[2];
    }
    q = split_heads(q, a.heads, "num_heads");
    k = split_heads(k, a.heads, "num_heads");
    v = split_heads(v, a.heads, "num_heads");
    Variable all_k = k, all_v = v;
    int64_t past = 0;
    if (call.has(places.past) && call.has(places.past + 1)) {
      expect_axes(call[places.past], 3, "past_key");
      past = call.shape(places.past)[2];
      // A cache with room behind what is in it.
      if (call.has(places.past_length)) past = call.integer(places.past_length, "past_sequence_length");
      all_k = with_rows(call[places.past], k, past);
      all_v = with_rows(call[places.past + 1], v, past);
      const auto used = [end = past + k.shape()[2]](const Variable& x) {
        return x.shape()[2] == end ? x : F::get_item(x, {Slice{}, Slice{}, Slice{0, end}});
      };
      k = used(all_k);
      v = used(all_v);
    }
    AttentionForm form = form_of(a, q, k, past, call[places.mask], call[places.attention_bias]);
    form.shown = shown;
    const AttentionResult result = attend(q, k, v, form);
    Values results{join_heads(result.y), all_k, all_v};
    if (result.scores.is_defined()) results.push_back(result.scores);
    return results;
  };
}

}  // namespace

std::span<const Operator> microsoft_attention_operators() {
  static constexpr Operator kOperators[] = {
      {"Attention", microsoft_attention},
      {"QAttention", qattention},
      {"MultiHeadAttention",
       [](const NodeReader& node) {
         expect_absent(node, 9, "cache_indirection");
         return multi_head_attention(node, {.bias = 3, .mask = 4, .attention_bias = 5, .past = 6, .past_length = 8});
       }},
      {"DecoderMaskedMultiHeadAttention",
       [](const NodeReader& node) {
         expect_absent(node, 9, "cache_indirection");
         return multi_head_attention(node, {.bias = 10, .mask = 3, .attention_bias = 4, .past = 5, .past_length = 7});
       }},
  };
  return kOperators;
}

}  // namespace kusari::onnx
