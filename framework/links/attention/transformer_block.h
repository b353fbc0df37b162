#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/links/any_link.h"
#include "kusari/framework/links/attention/multi_head_attention.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/normalization/layer_normalization.h"
#include "kusari/framework/links/normalization/rms_normalization.h"

namespace kusari::links {

/// What a transformer block normalizes with, and what its two inner products have between them.
enum class BlockNorm : uint8_t { layer, rms };
enum class BlockMlp : uint8_t {
  gelu,       ///< out(gelu(in(x)))
  gelu_tanh,  ///< the same with GeluForm::tanh, as in GPT-2
  relu,
  gated_silu,  ///< out(silu(g) u), g and u being the halves of in(x), as in Llama
  silu,
};

struct TransformerBlockOptions {
  bool is_causal = false;  ///< no place sees those behind it
  /// As in F::scaled_dot_product_attention: with is_causal, a place sees this many, its own being the last.
  std::optional<int64_t> window = std::nullopt;
  bool pre_norm = true;   ///< x + f(norm(x)); otherwise norm(x + f(x)), as in the paper
  double dropout = 0;     ///< in [0, 1), behind both halves and of the weights of attention, when config.train
  int64_t mlp_width = 0;  ///< 0: 4 width
  BlockMlp mlp = BlockMlp::gelu;
  BlockNorm norm = BlockNorm::layer;
  double eps = 1e-5;       ///< of the normalizations
  int64_t groups = 0;      ///< heads of keys and values; 0: as many as heads
  int64_t head_width = 0;  ///< elements of a head; 0: width / heads
  bool nobias = false;     ///< of all products, but for
  bool qkv_bias = false;   ///< that of queries, keys and values,
  bool out_bias = false;   ///< that behind the heads, and
  bool mlp_bias = false;   ///< the two that follow
  bool head_norm = false;  ///< each head's queries and keys are RMS-normalized before they turn, as in Qwen3
  double rotary_base = 0;  ///< F::rotary_embedding of queries and keys; 0: none
  functions::RotaryScaling rotary_scaling = {};  ///< of that rotation
  Initializer initial_w = {};                    ///< default: LeCunNormal
  Initializer initial_w_out = {};                ///< of the products before the two sums; default: that of initial_w
};

/// LayerNormalization or RMSNormalization, as norm and eps of the options say. Throws what they throw.
KUSARI_API AnyLink block_norm(int64_t width, const TransformerBlockOptions& options);

/// A layer of a transformer: attention, then two products for each place, each half added to what it was given.
/// Vaswani et al. 2017; torch.nn.TransformerEncoderLayer.
class KUSARI_API TransformerBlock : public Chain {
 public:
  using Options = TransformerBlockOptions;
  /// Throws what MultiHeadAttention throws, and ValueError for a negative mlp_width.
  TransformerBlock(int64_t width, int64_t heads, const Options& options = {});

  /// x: (B, T, width). Returns the same shape. With a cache x is what comes next.
  Variable operator()(const Variable& x, const AttentionCall& call = {}) const;

  Child<AnyLink> ln_1;  ///< LayerNormalization or RMSNormalization
  Child<MultiHeadAttention> attn;
  Child<AnyLink> ln_2;
  Child<Linear> mlp_in, mlp_out;
  double dropout;

 protected:
  /// What the options say of attention to x itself.
  static MultiHeadAttentionOptions attention_options(const Options& options);
  /// x + dropped(part(norm(x))), or norm(x + dropped(part(x))).
  Variable added(const AnyLink& norm, const Variable& x, const Callable<Variable(const Variable&)>& part) const;
  Variable mlp(const Variable& x) const;

 private:
  bool pre_norm_;
  BlockMlp mlp_;
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
