#include "kusari/framework/links/attention/multi_head_attention.h"

#include <exception>
#include <optional>
#include <string>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/split_axis.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/attention/rotary_embedding.h"
#include "kusari/framework/functions/attention/scaled_dot_product_attention.h"
#include "kusari/framework/functions/connection/linear.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes.h"

namespace kusari::links {
namespace {

const char* const kCall = "L::MultiHeadAttention";

int64_t divisor(const char* name, int64_t value, const char* what, int64_t of) {
  argument::positive(kCall, name, value);
  if (of % value == 0) return value;
  throw ValueError(std::string(kCall) + ": " + name + " is " + std::to_string(value) + ": it must divide " + what +
                   ", " + std::to_string(of));
}

// Elements of a head: three times those of all heads are a number.
int64_t head_width(int64_t width, int64_t heads, const MultiHeadAttentionOptions& options) {
  argument::require(width > 0 && size_times(kCall, "width", width, 3) > 0, kCall, "width", width, "be positive");
  argument::positive(kCall, "heads", heads);
  if (argument::not_negative(kCall, "head_width", options.head_width) == 0) {
    return width / divisor("heads", heads, "width", width);
  }
  size_times(kCall, "head_width", options.head_width, size_times(kCall, "heads", heads, 3));
  return options.head_width;
}

void expect_places(const Variable& x, const char* argument, int64_t width) {
  functions::expect_given(x, kCall, argument);
  if (x.ndim() == 3 && x.shape()[2] == width) return;
  throw TypeError(std::string(kCall) + ": " + argument + " has shape " + to_string(x.shape()) +
                  ": it must be (batch, places, " + std::to_string(width) + ")");
}

std::optional<int64_t> window(const MultiHeadAttentionOptions& options) {
  if (!options.window) return {};
  argument::positive(kCall, "window", *options.window);
  return argument::require(options.is_causal, kCall, "window", *options.window, "come with is_causal");
}

/// Forgets what a call added to its cache if the rest of it throws.
struct AddedPlaces {
  KVCacheLayer& cache;
  int64_t before = cache.length();
  int exceptions = std::uncaught_exceptions();
  ~AddedPlaces() {
    if (std::uncaught_exceptions() > exceptions) cache.truncate(before);
  }
};

}  // namespace

MultiHeadAttention::MultiHeadAttention(int64_t width, int64_t heads, Options options)
    : qkv{*this,
          "qkv",
          width,
          head_width(width, heads, options) *
              (heads + 2 * divisor("groups", options.groups == 0 ? heads : options.groups, "heads", heads)),
          {.nobias = options.nobias && !options.qkv_bias, .initial_w = options.initial_w}},
      out{*this,
          "out",
          heads * head_width(width, heads, options),
          width,
          {.nobias = options.nobias && !options.out_bias,
           .initial_w = options.initial_w_out ? std::move(options.initial_w_out) : options.initial_w}},
      q_norm{*this, "q_norm", options.head_norm,
             RMSNormalization(head_width(width, heads, options), {.eps = options.eps})},
      k_norm{*this, "k_norm", options.head_norm,
             RMSNormalization(head_width(width, heads, options), {.eps = options.eps})},
      dropout{argument::zero_to_below_one(kCall, "dropout", options.dropout)},
      width_{width},
      heads_{heads},
      groups_{options.groups == 0 ? heads : options.groups},
      head_width_{head_width(width, heads, options)},
      is_causal_{options.is_causal},
      window_{window(options)},
      rotary_{.base = argument::finite_not_negative(kCall, "rotary_base", options.rotary_base),
              .scaling = options.rotary_scaling} {}

// (B, T, count D) -> (B, count, T, D), without moving anything.
Variable MultiHeadAttention::heads_of(const Variable& x, int64_t count, const HeadNorm* norm) const {
  const Shape& shape = x.shape();
  const Variable heads = functions::reshape(x, {shape[0], shape[1], count, head_width_});
  return functions::transpose(norm != nullptr && norm->is_present() ? (*norm)(heads) : heads, {0, 2, 1, 3});
}

Variable MultiHeadAttention::attend(const Variable& q, const Variable& k, const Variable& v, const AttentionCall& call,
                                    bool is_causal) const {
  const Variable y = functions::scaled_dot_product_attention(q, k, v,
                                                             {.mask = call.mask,
                                                              .bias = call.bias,
                                                              .lengths = call.lengths,
                                                              .is_causal = is_causal,
                                                              .window = is_causal ? window_ : std::nullopt,
                                                              .dropout = dropout});
  const Shape& shape = y.shape();
  return out(functions::reshape(functions::transpose(y, {0, 2, 1, 3}), {shape[0], shape[2], heads_ * head_width_}), 2);
}

Variable MultiHeadAttention::operator()(const Variable& x, const AttentionCall& call) const {
  const LinkCall hooked(*this);
  expect_places(x, "x", width_);
  const int64_t own = heads_ * head_width_, side = groups_ * head_width_;
  const Variables parts = functions::split_axis(qkv(x, 2), {own, own + side}, 2);
  Variable q = heads_of(parts[0], heads_, &q_norm), k = heads_of(parts[1], groups_, &k_norm);
  const Variable v = heads_of(parts[2], groups_);
  if (rotary_.base > 0) {
    functions::RotaryOptions rotary = rotary_;
    if (call.cache != nullptr) rotary.first = call.cache->length();
    q = functions::rotary_embedding(q, rotary);
    k = functions::rotary_embedding(k, rotary);
  }
  if (call.cache == nullptr) return attend(q, k, v, call, is_causal_);
  const AddedPlaces added{*call.cache};
  const KVCacheLayer::Filled kept = call.cache->append(k, v);
  return attend(q, kept.key, kept.value, call, is_causal_);
}

Variable MultiHeadAttention::operator()(const Variable& x, const Variable& memory, const AttentionCall& call) const {
  const LinkCall hooked(*this);
  expect_places(x, "x", width_);
  const bool is_kept = call.cache != nullptr && call.cache->length() > 0;
  if (!is_kept || memory.is_defined()) expect_places(memory, "memory", width_);
  if (is_kept && memory.is_defined() && memory.shape()[1] != call.cache->length()) {
    throw ValueError(std::string(kCall) + ": memory has " + std::to_string(memory.shape()[1]) +
                     " places and cache those of a memory with " + std::to_string(call.cache->length()) +
                     ": truncate the cache to 0 before another memory");
  }
  Variable q;
  Variables kv;
  {
    const LinkCall of_qkv(qkv);
    const int64_t own = heads_ * head_width_;
    const Variables w = functions::split_axis(qkv.W, {own}, 0);
    const Variables b = qkv.b.is_defined() ? functions::split_axis(qkv.b, {own}, 0) : Variables{Variable(), Variable()};
    q = heads_of(functions::linear(x, w[0], b[0], {.n_batch_axes = 2}), heads_, &q_norm);
    if (!is_kept) kv = functions::split_axis(functions::linear(memory, w[1], b[1], {.n_batch_axes = 2}), 2, 2);
  }
  if (is_kept) {
    const auto [keys, values] = call.cache->filled();
    if (keys.ndim() != 4 || keys.shape()[1] != groups_) {
      throw ValueError(std::string(kCall) + ": cache has keys of shape " + to_string(keys.shape()) + ": it must have " +
                       std::to_string(groups_) + " heads, the groups of this link");
    }
    return attend(q, keys, values, call, false);
  }
  const Variable k = heads_of(kv[0], groups_, &k_norm), v = heads_of(kv[1], groups_);
  if (call.cache == nullptr) return attend(q, k, v, call, false);
  const AddedPlaces added{*call.cache};
  const auto [keys, values] = call.cache->append(k, v);
  return attend(q, keys, values, call, false);
}

}  // namespace kusari::links
