#include "kusari/framework/links/activation/simplified_dropconnect.h"

#include <cmath>
#include <utility>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/initializers/he.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes.h"
#include "kusari/framework/links/sizes_on_trial.h"

namespace kusari::links {

SimplifiedDropconnect::SimplifiedDropconnect(int64_t in_size, int64_t out_size, Options options)
    : ratio{options.ratio},
      W{*this,
        "W",
        {argument::not_negative("L::SimplifiedDropconnect", "out_size", out_size),
         size_or_infer("L::SimplifiedDropconnect", "in_size", in_size)},
        options.initial_w ? std::move(options.initial_w) : Initializer(initializers::HeNormal(1 / std::sqrt(2.0)))},
      b{*this, "b", {out_size}, std::move(options.initial_bias), !options.nobias} {}

Variable SimplifiedDropconnect::operator()(const Variable& x, const Call& call) const {
  const kusari::detail::SizesOnTrial sizes(W);
  if (!W.is_initialized()) {
    functions::expect_floating(x, "F::simplified_dropconnect", "x");
    expect_axes("L::SimplifiedDropconnect", x, 2);
    Shape features = x.shape();
    features.erase(0);
    W.infer(1, numel(features));
  }
  const LinkCall hooked(*this);
  return functions::simplified_dropconnect(
      x, W, b, {.ratio = ratio, .train = call.train, .mask = call.mask, .use_batchwise_mask = call.use_batchwise_mask});
}

}  // namespace kusari::links
