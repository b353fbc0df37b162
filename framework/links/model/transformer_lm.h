#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/any_link.h"
#include "kusari/framework/links/attention/kv_cache.h"
#include "kusari/framework/links/attention/transformer_block.h"
#include "kusari/framework/links/chain_list.h"
#include "kusari/framework/links/connection/embed_id.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::links {

struct TransformerLMOptions {
  int64_t block = 1024;  ///< places of a text at most
  int64_t layers = 12;
  int64_t heads = 12;
  int64_t width = 768;
  double dropout = 0;  ///< in [0, 1), behind the embedding and in each block, when config.train
  bool tied = true;    ///< the scores are products with the vectors of the words, wte.W; otherwise with lm_head
  /// Of all blocks. Causal in any case, with the `dropout` above. Without rotation each place has a vector of its own,
  /// wpe. Weights begin as GPT-2's do unless told otherwise: Normal(0.02), and Normal(0.02 / sqrt(2 layers)) before the
  /// sums.
  TransformerBlockOptions blocks = {};
  /// Of each layer's attention, where they differ: as many as layers, instead of blocks.window.
  std::vector<std::optional<int64_t>> windows = {};
};

/// A language model of transformer blocks: GPT-2 as it stands (Radford et al. 2019), Llama with
/// `.blocks = {.mlp = BlockMlp::gated_silu, .norm = BlockNorm::rms, .nobias = true, .rotary_base = 10000}`. Trained
/// weights: models::load_gpt2, models::load_llama.
class KUSARI_API TransformerLM : public Chain {
 public:
  using Options = TransformerLMOptions;
  /// Throws ValueError for numbers below 1, for windows of other layers than there are or beside blocks.window, and
  /// what TransformerBlock throws.
  explicit TransformerLM(int64_t words, const Options& options = {});

  /// The scores of the words that come next. ids: (B, T), integers, T <= block. Returns (B, T, words). With a cache ids
  /// are what comes next, and all places together are at most `block`. Throws TypeError and ValueError otherwise.
  Variable operator()(const Variable& ids, KVCache* cache = nullptr) const;
  /// Those behind the last place alone, (B, 1, words): all that generate() needs, for a fraction of the work.
  Variable next(const Variable& ids, KVCache* cache = nullptr) const;
  /// An empty cache for one call after another: as many layers as here; `capacity` places, 0: block.
  KVCache cache(int64_t capacity = 0) const;
  int64_t block() const noexcept { return block_; }

  Child<EmbedID> wte;                    ///< W: (words, width)
  OptionalParameter wpe;                 ///< (block, width); absent with rotation
  Child<ChainList<TransformerBlock>> h;  ///< the blocks
  Child<AnyLink> ln_f;                   ///< LayerNormalization or RMSNormalization
  OptionalParameter lm_head;             ///< (words, width); absent when tied
  double dropout;

 private:
  Variable hidden(const Variable& ids, KVCache* cache) const;
  Variable scores(const Variable& x) const;

  int64_t block_;
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
