#include "kusari/framework/links/connection/scale.h"

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/math/scale.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes.h"

namespace kusari::links {
namespace {

BiasOptions bias_options(const ScaleOptions& options) {
  if (!options.bias_term) return {.axis = options.axis};
  const std::optional<Shape>& shape = options.w_shape ? options.w_shape : options.bias_shape;
  if (!shape) throw ValueError("L::Scale: bias_term is true but there is neither w_shape nor bias_shape");
  return {.axis = options.axis, .shape = argument::shape("L::Scale", "bias_shape", *shape)};
}

}  // namespace

Scale::Scale(Options options)
    : axis{options.axis},
      W{*this, "W", argument::shape("L::Scale", "w_shape", options.w_shape.value_or(Shape())), 1,
        options.w_shape.has_value()},
      bias{*this, "bias", bias_options(options)} {}

Variable Scale::operator()(const Variable& x) const {
  const LinkCall call(*this);
  if (!W.is_defined()) throw StateError("L::Scale: there is no learnt weight: pass one, or give the link w_shape");
  const Variable y = functions::scale(x, W, axis);
  return bias.b.is_defined() ? bias(y) : y;
}

Variable Scale::operator()(const Variable& x, const Variable& y) const {
  const LinkCall call(*this);
  if (W.is_defined()) throw StateError("L::Scale: the link has a learnt weight and takes no other");
  const Variable z = functions::scale(x, y, axis);
  return bias.b.is_defined() ? bias(z) : z;
}

}  // namespace kusari::links
