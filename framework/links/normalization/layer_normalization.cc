#include "kusari/framework/links/normalization/layer_normalization.h"

#include <utility>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/normalization/layer_normalization.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes.h"

namespace kusari::links {

LayerNormalization::LayerNormalization(int64_t size, Options options)
    : eps{options.eps},
      gamma{*this,
            "gamma",
            {size_or_infer("L::LayerNormalization", "size", size)},
            std::move(options.initial_gamma),
            get_dtype({}, Dtype::float32)},
      beta{*this, "beta", {size}, std::move(options.initial_beta), get_dtype({}, Dtype::float32)} {}

Variable LayerNormalization::operator()(const Variable& x) const {
  functions::expect_given(x, "layer_normalization", "x");
  if (x.ndim() != 2) {
    throw TypeError("L::LayerNormalization: x has shape " + to_string(x.shape()) + ": x.ndim must equal 2");
  }
  gamma.infer(0, x.shape()[1]);
  beta.infer(0, x.shape()[1]);
  const detail::LinkCall call(*this);
  return functions::layer_normalization(x, gamma, beta, eps);
}

}  // namespace kusari::links
