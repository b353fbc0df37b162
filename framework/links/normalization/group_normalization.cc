#include "kusari/framework/links/normalization/group_normalization.h"

#include <utility>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/normalization/group_normalization.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes.h"

namespace kusari::links {

GroupNormalization::GroupNormalization(int64_t group_count, int64_t size, Options options)
    : groups{group_count},
      eps{options.eps},
      gamma{*this,
            "gamma",
            {size_or_infer("L::GroupNormalization", "size", size)},
            std::move(options.initial_gamma),
            get_dtype({}, Dtype::float32)},
      beta{*this, "beta", {size}, std::move(options.initial_beta), get_dtype({}, Dtype::float32)} {
  if (group_count < 1) {
    throw ValueError("L::GroupNormalization: group_count is " + std::to_string(group_count) + ": it must be positive");
  }
}

Variable GroupNormalization::operator()(const Variable& x) const {
  functions::expect_floating(x, "F::group_normalization", "x");
  expect_axes("L::GroupNormalization", x, 2);
  if (groups >= 1 && x.shape()[1] % groups == 0) {  // otherwise the function throws
    gamma.infer(0, x.shape()[1]);
    beta.infer(0, x.shape()[1]);
  }
  const LinkCall call(*this);
  return functions::group_normalization(x, groups, gamma, beta, eps);
}

}  // namespace kusari::links
