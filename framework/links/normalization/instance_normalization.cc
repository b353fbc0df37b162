#include "kusari/framework/links/normalization/instance_normalization.h"

#include <utility>

#include "kusari/framework/core/config.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/normalization/instance_normalization.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes.h"
#include "kusari/framework/links/sizes_on_trial.h"

namespace kusari::links {

InstanceNormalization::InstanceNormalization(int64_t size, Options options)
    : eps{options.eps},
      gamma{*this,
            "gamma",
            {size_or_infer("L::InstanceNormalization", "size", size)},
            std::move(options.initial_gamma),
            get_dtype({}, Dtype::float32)},
      beta{*this, "beta", {size}, std::move(options.initial_beta), get_dtype({}, Dtype::float32)} {}

Variable InstanceNormalization::operator()(const Variable& x) const {
  const kusari::detail::SizesOnTrial sizes(gamma);
  functions::expect_floating(x, "F::instance_normalization", "x");
  expect_axes("L::InstanceNormalization", x, 3);
  gamma.infer(0, x.shape()[1]);
  beta.infer(0, x.shape()[1]);
  const LinkCall call(*this);
  return functions::instance_normalization(x, gamma, beta, {.eps = eps});
}

}  // namespace kusari::links
