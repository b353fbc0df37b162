#include "kusari/framework/links/activation/prelu.h"

#include <utility>

#include "kusari/framework/functions/activation/prelu.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes.h"

namespace kusari::links {

PReLU::PReLU(Options options)
    : W{*this, "W", given_shape("L::PReLU", "shape", options.shape), std::move(options.init)} {}

Variable PReLU::operator()(const Variable& x) const {
  const detail::LinkCall call(*this);
  return functions::prelu(x, W);
}

}  // namespace kusari::links
