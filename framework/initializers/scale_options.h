#pragma once

#include <optional>

#include "kusari/framework/core/dtype.h"

namespace kusari::initializers {

/// Options of HeUniform, GlorotNormal, GlorotUniform, LeCunNormal, LeCunUniform and Identity.
struct ScaleOptions {
  double scale = 1;
  std::optional<Dtype> dtype = std::nullopt;  ///< of the array; default: the parameter's
};

}  // namespace kusari::initializers
