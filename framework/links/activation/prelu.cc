#include "kusari/framework/links/activation/prelu.h"

#include <utility>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/activation/prelu.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes.h"

namespace kusari::links {

PReLU::PReLU(Options options)
    : W{*this, "W", argument::shape("L::PReLU", "shape", options.shape), std::move(options.init)} {}

Variable PReLU::operator()(const Variable& x) const {
  const LinkCall call(*this);
  return functions::prelu(x, W);
}

}  // namespace kusari::links
