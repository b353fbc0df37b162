#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/expand_dims.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/split_axis.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/normalization/rms_normalization.h"
#include "kusari/framework/kernels/array_math.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/onnx/operators/attention.h"
#include "kusari/framework/onnx/operators/common.h"
#include "kusari/framework/onnx/operators/families.h"

// Attention with a cache, as ONNX Runtime's exporters of language models write it, and its rotary embedding.
namespace kusari::onnx {

namespace F = functions;

namespace {

/// first, first + 1, ...: (count).
Array places_from(int64_t first, int64_t count, const Device& device) {
  return host_constant([&] { return arange(count, Dtype::int64, device) + first; });
}

/// Rows of a table of cosines or sines for rotated(): places (T) or (B, T).
Variable rows_of(const Variable& table, const Array& places) {
  const Variable rows = F::get_item(table, {places});
  return places.ndim() == 1 ? F::reshape(rows, {1, 1, rows.shape()[0], rows.shape()[1]}) : F::expand_dims(rows, 1);
}

Operation microsoft_rotary_embedding(const NodeReader& node) {
  node.expect_inputs(4);
  const bool interleaved = node.flag("interleaved", false);
  const int64_t size = node.integer("rotary_embedding_dim", 0), heads = node.integer("num_heads", 0);
  if (node.flag("is_packed_batching", false)) throw ValueError("its attribute is_packed_batching is 1: it must be 0");
  if (size > 0 && heads < 1) {
    throw ValueError("its attribute num_heads is " + std::to_string(heads) + ": with rotary_embedding_dim, which is " +
                     std::to_string(size) + ", it must be at least 1");
  }
  return [=](const Call& call) -> Values {
    expect_axes(call[0], 3, "input");
    const bool joined = call.ndim(0) == 3;
    if (call.ndim(2) != 2)
      throw TypeError("cos_cache has shape " + kusari::to_string(call.shape(2)) + ": it must have 2 axes");
    // Without a number of heads the tables tell how long a row is.
    const int64_t row = 2 * call.shape(2)[1];
    const int64_t count = heads > 0 || row == 0 ? heads : call.shape(0)[call.ndim(0) - 1] / row;
    const Variable x = split_heads(call[0], count, "num_heads");
    Array places = call[1].array().astype(Dtype::int64);
    if (places.size() == 1) places = places.reshape({1}) + places_from(0, x.shape()[2], x.device());
    const Variable y =
        rotated(x, rows_of(call[2], places), rows_of(call[3], places), {.size = size, .interleaved = interleaved});
    return {joined ? join_heads(y) : y};
  };
}

struct GroupAttributes {
  explicit GroupAttributes(const NodeReader& node)
      : heads{node.integer("num_heads")},
        kv_heads{node.integer("kv_num_heads")},
        window{node.integer("local_window_size", -1)},
        softcap{node.real("softcap", 0)},
        is_causal{node.flag("causal", true)},
        does_rotary{node.flag("do_rotary", false)},
        is_interleaved{node.flag("rotary_interleaved", false)},
        is_smooth{node.integer("smooth_softmax", -1) == 1} {
    if (node.has("scale") && node.real("scale") != 0) scale = node.real("scale");
    const double both = node.real("qk_norm_epsilon", 1e-6);
    q_epsilon = node.real("q_norm_epsilon", both);
    k_epsilon = node.real("k_norm_epsilon", both);
    if (heads < 1 || kv_heads < 1 || heads % kv_heads != 0) {
      throw ValueError("its attribute num_heads is " + std::to_string(heads) + ", kv_num_heads " +
                       std::to_string(kv_heads) + ": the first must be a multiple of the second");
    }
    const int64_t mode = node.integer("qk_output", 0);
    if (node.has_output(3) && mode > 0) shown = mode == 1 ? ShownScores::masked : ShownScores::weights;
    if (node.flag("sliding_window_cache", false))
      throw ValueError("its attribute sliding_window_cache is 1, which is not supported");
    for (const char* const name : {"k_quant_type", "v_quant_type"}) {
      if (const std::string type = node.text(name, "NONE"); type != "NONE")
        throw ValueError("its attribute " + std::string(name) + " is '" + type + "': only 'NONE' is supported");
    }
    if (node.has_input(16)) throw ValueError("its input query_seqlens is given, which is not supported");
  }
  int64_t heads, kv_heads, window;
  double softcap;
  bool is_causal, does_rotary, is_interleaved, is_smooth;
  std::optional<double> scale;
  double q_epsilon, k_epsilon;
  ShownScores shown = ShownScores::none;
};

/// How the new keys continue a cache: each sequence may be of another length.
class Continuation {
 public:
  /// longest: how long the longest one becomes.
  Continuation(const Call& call, int64_t longest, int64_t added)
      : batch_{numel(call.shape(kLastPlaces))},
        longest_{longest},
        added_{added},
        cached_{call.has(kPastKey) ? call.shape(kPastKey)[2] : 0} {
    if (longest < added || longest - added > cached_) {
      throw ValueError("total_sequence_length is " + std::to_string(longest) + ": with " + std::to_string(added) +
                       " new keys and " + std::to_string(cached_) + " of the past it must be " + std::to_string(added) +
                       " to " + std::to_string(added + cached_));
    }
    // A prompt is filled up at the end, so that all sequences begin at 0.
    if (is_prompt() || is_longest(call)) {
      first_ = longest - added;
    } else {
      firsts_ = call[kLastPlaces].array().astype(Dtype::int64).reshape({batch_, 1}) + (1 - added);
    }
  }

  bool is_prompt() const { return longest_ == added_; }
  /// The places of the new keys, (T), or (B, T) where they differ.
  Array places(const Device& device) const {
    return first_ ? places_from(*first_, added_, device) : firsts_ + places_from(0, added_, device);
  }

  /// (B, heads, longest or all of the cache, D).
  Variable extended(const Variable& past, const Variable& x) const {
    if (!past.is_defined()) return x;
    if (first_) return with_rows(past, x, *first_);
    // Behind the past stand the new keys; each place is taken from one of them.
    const int64_t length = std::max(longest_, cached_), heads = x.shape()[1];
    const Array at = places_from(0, length, x.device());
    const Array is_new = (at >= firsts_) & (at < firsts_ + added_);
    const Array from = xp::where(is_new, at - firsts_ + cached_, xp::minimum(at, cached_ - 1));
    const auto axis = [&](int64_t count, const Shape& shape) {
      return places_from(0, count, x.device()).reshape(shape);
    };
    return F::get_item(F::concat({past, x}, 2),
                       {axis(batch_, {batch_, 1, 1}), axis(heads, {1, heads, 1}), from.reshape({batch_, 1, length})});
  }

  /// Which keys the queries see, or undefined where causal() says it all.
  Array mask(const GroupAttributes& a, const Device& device) const {
    if (first_ && a.window <= 0) return Array();
    const Array keys = places_from(0, longest_, device);
    const Array places_of_queries = places(device);
    const Array queries =
        first_ ? places_of_queries.reshape({1, 1, added_, 1}) : places_of_queries.reshape({batch_, 1, added_, 1});
    Array seen = keys <= queries;
    if (a.window > 0) seen = seen & (keys > queries - a.window);
    return seen;
  }
  std::optional<int64_t> causal() const { return first_; }

 private:
  static constexpr size_t kPastKey = 3, kLastPlaces = 5;  // inputs; the second: (B), the last place of each sequence

  /// Whether there is one sequence, and the host knows, without waiting for a device or giving up a recording, that it
  /// becomes as long as the longest.
  bool is_longest(const Call& call) const {
    if (batch_ != 1) return false;
    const bool is_at_hand =
        call.value(kLastPlaces).is_on_host() || (call.device().is_cpu() && GraphCapture::current() == nullptr);
    return is_at_hand && call.integer(kLastPlaces, "seqlens_k") == longest_ - 1;
  }

  int64_t batch_, longest_, added_, cached_;
  std::optional<int64_t> first_;  ///< place of the first new key, if it is the same for all
  Array firsts_;                  ///< otherwise that of each: (B, 1)
};

Values group_query_attention(const GroupAttributes& a, const Call& call) {
  Variable q = call[0], k = call[1], v = call[2];
  expect_axes(q, 3, "query");
  for (const size_t cache : {3, 4}) {
    if (call.has(cache)) expect_axes(call[cache], 4, cache == 3 ? "past_key" : "past_value");
  }
  if (!k.is_defined()) {
    const int64_t columns = q.shape()[q.ndim() - 1], all_heads = a.heads + 2 * a.kv_heads;
    if (columns % all_heads != 0) {
      throw TypeError("query has shape " + kusari::to_string(q.shape()) + ": its last axis must be divisible by " +
                      std::to_string(all_heads) + " heads of queries, keys and values");
    }
    const int64_t size = columns / all_heads;
    const std::vector<int64_t> ends{a.heads * size, (a.heads + a.kv_heads) * size};
    const Variables parts = F::split_axis(q, std::span<const int64_t>(ends), -1);
    q = parts[0];
    k = parts[1];
    v = parts[2];
  }
  q = split_heads(q, a.heads, "num_heads");
  k = split_heads(k, a.kv_heads, "kv_num_heads");
  v = split_heads(v, a.kv_heads, "kv_num_heads");
  if (call.has(14)) q = F::rms_normalization(q, call[14], a.q_epsilon);
  if (call.has(15)) k = F::rms_normalization(k, call[15], a.k_epsilon);
  const int64_t longest = call.integer(6, "total_sequence_length"), added = q.shape()[2];
  const Continuation continuation(call, longest, added);
  if (a.does_rotary) {
    Array places = call.has(9) ? call[9].array().astype(Dtype::int64) : continuation.places(q.device());
    // Of a prompt's positions only the first one counts.
    if (call.has(9) && continuation.is_prompt()) {
      places = places.reshape({places.size()}).slice(0, 0, 1) + places_from(0, added, q.device());
    }
    expect_axes(call[7], 2, "cos_cache");
    const Variable cos = rows_of(call[7], places), sin = rows_of(call[8], places);
    const Rotation rotation{.size = 2 * call.shape(7)[1], .interleaved = a.is_interleaved};
    q = rotated(q, cos, sin, rotation);
    k = rotated(k, cos, sin, rotation);
  }
  k = continuation.extended(call[3], k);
  v = continuation.extended(call[4], v);
  const auto used = [&](const Variable& x) {
    return x.shape()[2] == longest ? x : F::get_item(x, {Slice{}, Slice{}, Slice{0, longest}});
  };
  AttentionForm form{};
  form.scale = a.scale.value_or(1 / std::sqrt(static_cast<double>(q.shape()[3])));
  form.softcap = a.softcap;
  form.shown = a.shown;
  if (a.is_causal) {
    form.causal = continuation.causal();
    form.mask = continuation.mask(a, q.device());
  } else {
    form.lengths = call[5].array().astype(Dtype::int64) + 1;
  }
  if (call.has(10)) {
    const Array bias = call[10].array();
    form.mask = form.mask.is_defined()
                    ? xp::where(form.mask, bias,
                                full({}, -std::numeric_limits<double>::infinity(), bias.dtype(), bias.device()))
                    : bias;
  }
  if (call.has(11)) form.sink = call[11];
  if (!call.has(11) && a.is_smooth) form.sink = Variable(zeros({a.heads}, q.dtype(), q.device()), false);
  const AttentionResult result = attend(q, used(k), used(v), form);
  Values results{join_heads(result.y), k, v};
  if (result.scores.is_defined()) {
    // Keys that a query does not see show 0.
    const Array scores = result.scores.array();
    results.push_back(Variable(xp::where(scores == -std::numeric_limits<double>::infinity(), 0.0, scores), false));
  }
  return results;
}

}  // namespace

std::span<const Operator> microsoft_group_attention_operators() {
  static constexpr Operator kOperators[] = {
      {"RotaryEmbedding", microsoft_rotary_embedding},
      {"GroupQueryAttention",
       [](const NodeReader& node) -> Operation {
         node.expect_inputs(7);
         return [a = GroupAttributes(node)](const Call& call) { return group_query_attention(a, call); };
       }},
  };
  return kOperators;
}

}  // namespace kusari::onnx
