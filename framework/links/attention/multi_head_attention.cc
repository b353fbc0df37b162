#include "kusari/framework/links/attention/multi_head_attention.h"

#include <exception>
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

void expect_places(const Variable& x, const char* argument, int64_t width) {
  functions::expect_given(x, kCall, argument);
  if (x.ndim() == 3 && x.shape()[2] == width) return;
  throw TypeError(std::string(kCall) + ": " + argument + " has shape " + to_string(x.shape()) +
                  ": it must be (batch, places, " + std::to_string(width) + ")");
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
          argument::require(width > 0 && size_times(kCall, "width", width, 3) > 0, kCall, "width", width,
                            "be positive"),
          width + 2 * divisor("groups", options.groups == 0 ? heads : options.groups, "heads", heads) *
                      (width / divisor("heads", heads, "width", width)),
          {.nobias = options.nobias, .initial_w = options.initial_w}},
      out{*this,
          "out",
          width,
          width,
          {.nobias = options.nobias,
           .initial_w = options.initial_w_out ? std::move(options.initial_w_out) : options.initial_w}},
      dropout{argument::zero_to_below_one(kCall, "dropout", options.dropout)},
      width_{width},
      heads_{heads},
      groups_{options.groups == 0 ? heads : options.groups},
      is_causal_{options.is_causal},
      rotary_base_{argument::finite_not_negative(kCall, "rotary_base", options.rotary_base)} {}

// (B, T, count D) -> (B, count, T, D), without moving anything.
Variable MultiHeadAttention::heads_of(const Variable& x, int64_t count) const {
  const Shape& shape = x.shape();
  return functions::transpose(functions::reshape(x, {shape[0], shape[1], count, width_ / heads_}), {0, 2, 1, 3});
}

Variable MultiHeadAttention::attend(const Variable& q, const Variable& k, const Variable& v, const AttentionCall& call,
                                    bool is_causal) const {
  const Variable y = functions::scaled_dot_product_attention(
      q, k, v,
      {.mask = call.mask, .bias = call.bias, .lengths = call.lengths, .is_causal = is_causal, .dropout = dropout});
  const Shape& shape = y.shape();
  return out(functions::reshape(functions::transpose(y, {0, 2, 1, 3}), {shape[0], shape[2], width_}), 2);
}

Variable MultiHeadAttention::operator()(const Variable& x, const AttentionCall& call) const {
  const LinkCall hooked(*this);
  expect_places(x, "x", width_);
  const int64_t side = groups_ * (width_ / heads_);
  const Variables parts = functions::split_axis(qkv(x, 2), {width_, width_ + side}, 2);
  Variable q = heads_of(parts[0], heads_), k = heads_of(parts[1], groups_), v = heads_of(parts[2], groups_);
  if (rotary_base_ > 0) {
    const functions::RotaryOptions rotary{.first = call.cache != nullptr ? call.cache->length() : 0,
                                          .base = rotary_base_};
    q = functions::rotary_embedding(q, rotary);
    k = functions::rotary_embedding(k, rotary);
  }
  if (call.cache == nullptr) return attend(q, k, v, call, is_causal_);
  const AddedPlaces added{*call.cache};
  const auto [keys, values] = call.cache->append(k, v);
  return attend(q, keys, values, call, is_causal_);
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
    const Variables w = functions::split_axis(qkv.W, {width_}, 0);
    const Variables b =
        qkv.b.is_defined() ? functions::split_axis(qkv.b, {width_}, 0) : Variables{Variable(), Variable()};
    q = heads_of(functions::linear(x, w[0], b[0], {.n_batch_axes = 2}), heads_);
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
  const Variable k = heads_of(kv[0], groups_), v = heads_of(kv[1], groups_);
  if (call.cache == nullptr) return attend(q, k, v, call, false);
  const AddedPlaces added{*call.cache};
  const auto [keys, values] = call.cache->append(k, v);
  return attend(q, keys, values, call, false);
}

}  // namespace kusari::links
