#pragma once

#include <optional>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::links {

struct SwishOptions {
  Initializer beta_init = 1;
};

/// F::swish with a learnt beta: y = x sigmoid(beta x). x: (N, beta_shape..., ...). chainer.links.Swish.
class KUSARI_API Swish : public Link {
 public:
  using Options = SwishOptions;
  /// beta_shape: {} one number for all, {C} one per channel, std::nullopt one for each element of the first example.
  explicit Swish(const std::optional<Shape>& beta_shape, Options options = {});
  Variable operator()(const Variable& x) const;

  Parameter beta;  ///< of the given shape
};

}  // namespace kusari::links
