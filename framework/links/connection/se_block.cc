#include "kusari/framework/links/connection/se_block.h"

#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/activation/sigmoid.h"
#include "kusari/framework/functions/activation/silu.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/pooling/average_pooling_nd.h"
#include "kusari/framework/links/link_hook.h"

namespace kusari::links {
namespace {

namespace F = functions;

const char* const kSEBlock = "L::SEBlock";

int64_t channels_between(int64_t channels, const SEBlockOptions& options) {
  argument::positive(kSEBlock, "channels", channels);
  argument::not_negative(kSEBlock, "squeezed", options.squeezed);
  if (options.squeezed > 0) return options.squeezed;
  argument::require(options.ratio >= 1 && options.ratio <= channels, kSEBlock, "ratio", options.ratio,
                    "be in [1, channels]");
  return channels / options.ratio;
}

}  // namespace

SEBlock::SEBlock(int64_t channels, const Options& options)
    : down{*this, "down", channels, channels_between(channels, options), {.initial_w = options.initial_w}},
      up{*this, "up", channels_between(channels, options), channels, {.initial_w = options.initial_w}},
      activation_{options.activation} {}

Variable SEBlock::operator()(const Variable& x) const {
  const LinkCall call(*this);
  const Variable squeezed = down(F::global_average_pooling_2d(x));
  const Variable excited = up(activation_ == SEActivation::swish ? F::silu(squeezed) : F::relu(squeezed));
  // In x's dtype: a factor must not widen a map.
  const Variable factor = F::cast(F::sigmoid(excited), x.dtype());
  return x * F::reshape(factor, {factor.shape()[0], factor.shape()[1], 1, 1});
}

}  // namespace kusari::links
