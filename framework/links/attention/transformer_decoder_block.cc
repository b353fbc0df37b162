#include "kusari/framework/links/attention/transformer_decoder_block.h"

#include "kusari/framework/links/link_hook.h"

namespace kusari::links {
namespace {

TransformerBlockOptions causal(TransformerBlockOptions options) {
  options.is_causal = true;
  return options;
}

// To a memory, whose places are not those of x.
MultiHeadAttentionOptions to_memory(MultiHeadAttentionOptions options) {
  options.is_causal = false;
  options.window.reset();
  options.rotary_base = 0;
  return options;
}

}  // namespace

TransformerDecoderBlock::TransformerDecoderBlock(int64_t width, int64_t heads, const Options& o)
    : TransformerBlock(width, heads, causal(o)),
      ln_cross{*this, "ln_cross", block_norm(width, o)},
      cross_attn{*this, "cross_attn", width, heads, to_memory(attention_options(o))} {}

Variable TransformerDecoderBlock::operator()(const Variable& x, const Variable& memory, const DecoderCall& call) const {
  const LinkCall hooked(*this);
  const AttentionCall own{.mask = call.mask, .bias = call.bias, .lengths = call.lengths, .cache = call.cache};
  const AttentionCall across{.mask = call.memory_mask, .lengths = call.memory_lengths, .cache = call.memory_cache};
  const Variable seen = added(ln_1, x, [&](const Variable& z) { return attn(z, own); });
  const Variable read = added(ln_cross, seen, [&](const Variable& z) { return cross_attn(z, memory, across); });
  return added(ln_2, read, [&](const Variable& z) { return mlp(z); });
}

}  // namespace kusari::links
