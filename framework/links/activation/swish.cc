#include "kusari/framework/links/activation/swish.h"

#include <utility>

#include "kusari/framework/functions/activation/swish.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes_on_trial.h"

namespace kusari::links {

Swish::Swish(const std::optional<Shape>& beta_shape, Options options)
    : beta{*this, "beta", beta_shape.value_or(Shape{kInferShape}), std::move(options.beta_init)} {}

Variable Swish::operator()(const Variable& x) const {
  const kusari::detail::SizesOnTrial sizes(beta);
  if (!beta.is_initialized()) {
    functions::expect_floating(x, "F::swish", "x");
    Shape shape = x.shape();
    if (!shape.empty()) shape.erase(0);
    beta.initialize(shape);
  }
  const LinkCall call(*this);
  return functions::swish(x, beta);
}

}  // namespace kusari::links
