#include "kusari/framework/links/normalization/rms_normalization.h"

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/normalization/rms_normalization.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes.h"

namespace kusari::links {

RMSNormalization::RMSNormalization(int64_t size, Options options)
    : eps{argument::finite_not_negative("L::RMSNormalization", "eps", options.eps)},
      gamma{*this,
            "gamma",
            {size_or_infer("L::RMSNormalization", "size", size)},
            std::move(options.initial_gamma),
            get_dtype({}, Dtype::float32)} {}

Variable RMSNormalization::operator()(const Variable& x) const {
  functions::expect_floating(x, "F::rms_normalization", "x");
  if (x.ndim() > 0) gamma.infer(0, x.shape()[x.ndim() - 1]);
  const LinkCall call(*this);
  return functions::rms_normalization(x, gamma, eps);
}

}  // namespace kusari::links
