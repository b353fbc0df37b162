#include "kusari/framework/links/activation/prelu.h"

#include <utility>

#include "kusari/framework/functions/activation/prelu.h"

namespace kusari::links {

PReLU::PReLU(Options options) : W{*this, "W", options.shape, std::move(options.init)} {}

Variable PReLU::operator()(const Variable& x) { return functions::prelu(x, W); }

}  // namespace kusari::links
