#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/attention/rotary_embedding.h"
#include "kusari/framework/links/attention/kv_cache.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/normalization/rms_normalization.h"
#include "kusari/framework/links/optional_child.h"

namespace kusari::links {

struct MultiHeadAttentionOptions {
  int64_t groups = 0;      ///< heads of keys and values, of which `heads` is a multiple; 0: as many as heads
  int64_t head_width = 0;  ///< elements of a head; 0: width / heads
  bool is_causal = false;  ///< no place sees those behind it
  /// As in F::scaled_dot_product_attention: with is_causal, a place sees this many, its own being the last. Attention
  /// to a memory has none.
  std::optional<int64_t> window = std::nullopt;
  bool nobias = false;     ///< of both products, but for
  bool qkv_bias = false;   ///< that of queries, keys and values, as in Qwen2, and
  bool out_bias = false;   ///< that behind the heads
  double dropout = 0;      ///< in [0, 1), of the weights of attention, when config.train
  bool head_norm = false;  ///< each head's queries and keys are RMS-normalized before they turn, as in Qwen3
  double eps = 1e-6;       ///< of that
  double rotary_base = 0;  ///< F::rotary_embedding of queries and keys with this base; 0: none
  functions::RotaryScaling rotary_scaling = {};  ///< of that rotation
  Initializer initial_w = {};                    ///< default: LeCunNormal
  Initializer initial_w_out = {};                ///< of the product behind the heads; default: that of initial_w
};

/// Options of one call.
struct AttentionCall {
  Array mask = {};     ///< as in F::scaled_dot_product_attention
  Variable bias = {};  ///< likewise, with its gradient
  Array lengths = {};  ///< likewise
  /// Keys and values of the places before, which those of x join; of attention to a memory those of the memory.
  KVCacheLayer* cache = nullptr;
};

/// Attention of several heads between products: out(attention(q, k, v)), q, k and v being qkv(x) for each head.
/// Vaswani et al. 2017; torch.nn.MultiheadAttention with batch_first.
class KUSARI_API MultiHeadAttention : public Chain {
 public:
  using Options = MultiHeadAttentionOptions;
  /// Throws ValueError unless width is a multiple of heads, or head_width is given, and heads of groups, and for a
  /// window below 1 or without is_causal.
  MultiHeadAttention(int64_t width, int64_t heads, Options options = {});

  /// Of each place of x to all: x: (B, T, width). Returns the same shape. With a cache x is what comes next.
  Variable operator()(const Variable& x, const AttentionCall& call = {}) const;
  /// Of each place of x to those of memory, (B, S, width): an encoder's. Never causal, and without rotation. A cache
  /// without places is filled with the memory's; from one with places keys and values are taken, so that steps of a
  /// decoder compute them once, and memory may be undefined. Throws ValueError for a memory with another number of
  /// places than such a cache: cache.truncate(0) makes room for the next memory; and for a cache of other heads.
  Variable operator()(const Variable& x, const Variable& memory, const AttentionCall& call = {}) const;

  Child<Linear> qkv;                               ///< W: ((heads + 2 groups) head_width, width): q, k, v as blocks
  Child<Linear> out;                               ///< W: (width, heads head_width)
  OptionalChild<RMSNormalization> q_norm, k_norm;  ///< gamma: (head_width); absent without head_norm
  double dropout;

 private:
  using HeadNorm = OptionalChild<RMSNormalization>;
  Variable heads_of(const Variable& x, int64_t count, const HeadNorm* norm = nullptr) const;
  Variable attend(const Variable& q, const Variable& k, const Variable& v, const AttentionCall& call,
                  bool is_causal) const;

  int64_t width_, heads_, groups_, head_width_;
  bool is_causal_;
  std::optional<int64_t> window_;
  functions::RotaryOptions rotary_;
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
