#pragma once

#include <cstdint>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/any_link.h"
#include "kusari/framework/links/attention/kv_cache.h"
#include "kusari/framework/links/attention/multi_head_attention.h"
#include "kusari/framework/links/attention/transformer_block.h"
#include "kusari/framework/links/link.h"

namespace kusari::links {

/// Options of one call.
struct DecoderCall {
  Array mask = {};                ///< of the attention of x to itself, as in F::scaled_dot_product_attention
  Variable bias = {};             ///< likewise
  Array lengths = {};             ///< likewise
  Array memory_mask = {};         ///< of the attention to memory: broadcast to (B, heads, T, S)
  Array memory_lengths = {};      ///< (B), integers: places of each memory that there are, the rest being padding
  KVCacheLayer* cache = nullptr;  ///< keys and values of the places before, which those of x join
  KVCacheLayer* memory_cache = nullptr;  ///< those of memory, computed by the first call with it alone
};

/// A layer of a transformer that writes one sequence while it reads another: TransformerBlock with attention to an
/// encoder's result between its two halves, normalized and added as they are. Vaswani et al. 2017;
/// torch.nn.TransformerDecoderLayer with batch_first.
class KUSARI_API TransformerDecoderBlock : public TransformerBlock {
 public:
  /// Causal in any case: is_causal need not be set. Attention to memory has the heads, groups and dropout of the other,
  /// and neither window nor rotation. Throws what TransformerBlock throws.
  TransformerDecoderBlock(int64_t width, int64_t heads, const Options& options = {});

  /// x: (B, T, width), memory: (B, S, width). Returns the shape of x. With call.cache x is what comes next, and place
  /// by place gives the numbers of the whole; with call.memory_cache all calls but the first may leave memory
  /// undefined. Caches carry no gradients. Throws what MultiHeadAttention throws. Differentiable by x and memory.
  Variable operator()(const Variable& x, const Variable& memory, const DecoderCall& call = {}) const;

  Child<AnyLink> ln_cross;               ///< like ln_1 and ln_2
  Child<MultiHeadAttention> cross_attn;  ///< of x to memory, without rotation
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
