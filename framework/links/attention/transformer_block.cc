#include "kusari/framework/links/attention/transformer_block.h"

#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/activation/gelu.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/activation/silu.h"
#include "kusari/framework/functions/array/split_axis.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/noise/dropout.h"
#include "kusari/framework/links/link_hook.h"

namespace kusari::links {
namespace {

int64_t inner_width(int64_t width, const TransformerBlockOptions& options) {
  argument::not_negative("L::TransformerBlock", "mlp_width", options.mlp_width);
  return options.mlp_width == 0 ? 4 * width : options.mlp_width;
}

}  // namespace

AnyLink block_norm(int64_t width, const TransformerBlockOptions& options) {
  if (options.norm == BlockNorm::rms) return AnyLink(RMSNormalization(width, {.eps = options.eps}));
  return AnyLink(LayerNormalization(width, {.eps = options.eps}));
}

MultiHeadAttentionOptions TransformerBlock::attention_options(const Options& o) {
  return {.groups = o.groups,
          .head_width = o.head_width,
          .is_causal = o.is_causal,
          .window = o.window,
          .nobias = o.nobias,
          .qkv_bias = o.qkv_bias,
          .out_bias = o.out_bias,
          .dropout = o.dropout,
          .head_norm = o.head_norm,
          .eps = o.eps,
          .rotary_base = o.rotary_base,
          .rotary_scaling = o.rotary_scaling,
          .initial_w = o.initial_w,
          .initial_w_out = o.initial_w_out};
}

TransformerBlock::TransformerBlock(int64_t width, int64_t heads, const Options& o)
    : ln_1{*this, "ln_1", block_norm(width, o)},
      attn{*this, "attn", width, heads, attention_options(o)},
      ln_2{*this, "ln_2", block_norm(width, o)},
      mlp_in{*this,
             "mlp_in",
             width,
             inner_width(width, o) * (o.mlp == BlockMlp::gated_silu ? 2 : 1),
             {.nobias = o.nobias && !o.mlp_bias, .initial_w = o.initial_w}},
      mlp_out{*this,
              "mlp_out",
              inner_width(width, o),
              width,
              {.nobias = o.nobias && !o.mlp_bias, .initial_w = o.initial_w_out ? o.initial_w_out : o.initial_w}},
      dropout{o.dropout},
      pre_norm_{o.pre_norm},
      mlp_{o.mlp} {}

Variable TransformerBlock::mlp(const Variable& x) const {
  using namespace functions;
  const Variable h = mlp_in(x, 2);
  switch (mlp_) {
    case BlockMlp::gelu:
      return mlp_out(gelu(h), 2);
    case BlockMlp::gelu_tanh:
      return mlp_out(gelu(h, GeluForm::tanh), 2);
    case BlockMlp::relu:
      return mlp_out(relu(h), 2);
    case BlockMlp::silu:
      return mlp_out(silu(h), 2);
    case BlockMlp::gated_silu: {
      const Variables halves = split_axis(h, 2, 2);
      return mlp_out(silu(halves[0]) * halves[1], 2);
    }
  }
  return {};
}

Variable TransformerBlock::added(const AnyLink& norm, const Variable& x,
                                 const Callable<Variable(const Variable&)>& part) const {
  const auto dropped = [&](const Variable& h) { return dropout > 0 ? functions::dropout(h, dropout) : h; };
  return pre_norm_ ? x + dropped(part(norm(x))) : norm(x + dropped(part(x)));
}

Variable TransformerBlock::operator()(const Variable& x, const AttentionCall& call) const {
  const LinkCall hooked(*this);
  const Variable h = added(ln_1, x, [&](const Variable& z) { return attn(z, call); });
  return added(ln_2, h, [&](const Variable& z) { return mlp(z); });
}

}  // namespace kusari::links
