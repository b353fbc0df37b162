#pragma once

#include <optional>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Options of F::scaled_dot_product_attention.
struct AttentionOptions {
  /// Broadcast to (B, heads, n, keys): bool, true where a query sees a key, or floating, added to the scores; it gets
  /// no gradient.
  Array mask = {};
  /// Added to the scores: floating, broadcast to (B, heads, n, keys), as learnt biases of relative places are
  /// (1, heads, n, keys). It gets a gradient of its own shape. Beside a mask the two are put together in memory, one
  /// number for each score; alone it costs none, and lengths hide padding at no such price.
  Variable bias = {};
  /// (B), integers: keys of each sequence that there are; all when undefined. One outside [0, keys] throws ValueError
  /// where the array is on the CPU; on a device, whose numbers the host does not wait for, and when a static graph is
  /// replayed, it counts as the nearer of 0 and keys.
  Array lengths = {};
  /// A query sees no key behind its own place. With more keys than queries these are the last ones: query i is at the
  /// place of key (keys - n) + i, as where keys come from a cache.
  bool is_causal = false;
  /// At least 1, and with is_causal alone: a query sees this many keys at most, the last being that of its own place,
  /// and none before them, as with sliding_window in transformers. Time grows with n times window. Beltagy et al. 2020,
  /// Jiang et al. 2023.
  std::optional<int64_t> window = std::nullopt;
  std::optional<double> scale = std::nullopt;  ///< positive; 1 / sqrt(D) when not given
  double dropout = 0;                          ///< in [0, 1), of the weights, when config.train
};

/// softmax(scale q k^T + bias) v for each head, without a matrix of all weights in memory: y[b, h, i] = sum_j w_ij v[b,
/// g, j]. q: (B, heads, n, D). k: (B, groups, keys, D), v: (B, groups, keys, E), heads a multiple of groups, each of
/// which serves heads / groups neighbouring heads. One floating dtype, any strides. Returns (B, heads, n, E). A query
/// that sees no key gives zeros. Throws TypeError when shapes or dtypes do not fit, ValueError for other options.
/// Differentiable to any order by q, k, v and bias. Vaswani et al. 2017, Dao et al. 2022;
/// torch.nn.functional.scaled_dot_product_attention.
KUSARI_API Variable scaled_dot_product_attention(const Variable& q, const Variable& k, const Variable& v,
                                                 const AttentionOptions& options = {});

}  // namespace kusari::functions
