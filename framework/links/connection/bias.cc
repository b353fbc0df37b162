#include "kusari/framework/links/connection/bias.h"

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/math/bias.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes.h"

namespace kusari::links {

Bias::Bias(Options options)
    : axis{options.axis},
      b{*this, "b", argument::shape("L::Bias", "shape", options.shape.value_or(Shape())), 0,
        options.shape.has_value()} {}

Variable Bias::operator()(const Variable& x) const {
  const LinkCall call(*this);
  if (!b.is_defined()) throw StateError("L::Bias: there is no learnt bias: pass one, or give the link a shape");
  return functions::bias(x, b, axis);
}

Variable Bias::operator()(const Variable& x, const Variable& y) const {
  const LinkCall call(*this);
  if (b.is_defined()) throw StateError("L::Bias: the link has a learnt bias and takes no other");
  return functions::bias(x, y, axis);
}

}  // namespace kusari::links
