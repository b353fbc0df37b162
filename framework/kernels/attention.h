#pragma once

#include "kusari/framework/core/kernel.h"

// Attention without a matrix of all scores in memory (Dao et al. 2022).
namespace kusari::kernels {

struct AttentionForm {
  double scale;
  double dropout;      ///< probability with which a weight becomes 0, in [0, 1); others grow by 1 / (1 - dropout)
  bool is_causal;      ///< query i of n sees the keys up to number (keys - n) + i,
  int64_t window = 0;  ///< and of these so many, the last ones; 0: all. With is_causal alone
};

/// y[b, h, i] = sum_j softmax_j(scale q[b, h, i] k[b, g, j]) v[b, g, j], g = h / (heads / groups).
/// q: (B, heads, n, D), k: (B, groups, keys, D), v: (B, groups, keys, E), y: (B, heads, n, E), whose last axes are
/// contiguous, and n and keys at least 1. mask: (B, heads, n, keys) of any strides, undefined for none: bool, true
/// where i sees j, or numbers that are added to the scores. lengths: (B), int64: keys of each sequence that there are,
/// undefined for all. A query that sees no key gives zeros. lse: (B, heads, n), the logarithm of the sum of
/// exponentials, for the gradient, with y's dtype or float32 for half types; undefined when that will not come. stream:
/// where the random numbers of dropout are, as RandomPlace tells it; undefined without dropout. Weight (b, h, i, j)
/// takes the number at its place in C order. q, k, v, y: one floating dtype, half types are summed in float32.
struct Attention {
  static constexpr const char* kName = "attention";
  using Signature = void(Params<AttentionForm> form, In q, In k, In v, In mask, In lengths, In stream, Out y, Out lse);
};

/// What is done with hidden scores.
struct HiddenScores {
  bool is_hidden_where_true;  ///< of the mask; else where it is false
};

/// Attention in which hidden scores are a number instead of being left out: y = softmax(where(mask, scale q k^T, fill))
/// v, as models are written that fill a matrix of scores. mask: bool, fill: one element of the dtype of q, k, v and y,
/// which is float32. Nothing is causal or dropped out.
struct FilledAttention {
  static constexpr const char* kName = "filled_attention";
  using Signature = void(Params<AttentionForm> form, Params<HiddenScores> hidden, In q, In k, In v, In mask, In fill,
                         Out y);
};

/// Gradients of the same by q, k and v, each in an order of its own in which the last axis is innermost, C-ordered on
/// GPUs. gy: like y.
struct AttentionGradient {
  static constexpr const char* kName = "attention_gradient";
  using Signature = void(Params<AttentionForm> form, In q, In k, In v, In mask, In lengths, In y, In lse, In stream,
                         In gy, Out gq, Out gk, Out gv);
};

/// Gradient of the same by numbers that are added to the scores, of which mask holds what was added to each: its sums
/// over the axes along which gbias has size 1. gbias: (B or 1, heads or 1, n or 1, keys or 1), C-ordered, with lse's
/// dtype. No matrix of all scores is in memory, unless gbias is one.
struct AttentionBiasGradient {
  static constexpr const char* kName = "attention_bias_gradient";
  using Signature = void(Params<AttentionForm> form, In q, In k, In v, In mask, In lengths, In y, In lse, In stream,
                         In gy, Out gbias);
};

}  // namespace kusari::kernels
