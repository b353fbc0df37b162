#pragma once

#include <optional>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/initializers/scale_options.h"

namespace kusari::initializers {

/// Normal with deviation scale sqrt(1 / fan_in). LeCun et al. 1998; chainer.initializers.LeCunNormal.
struct KUSARI_API LeCunNormal : ScaleOptions {
  explicit LeCunNormal(const ScaleOptions& options = {}) : ScaleOptions{options} {}
  explicit LeCunNormal(double factor, std::optional<Dtype> array_dtype = std::nullopt)
      : ScaleOptions{factor, array_dtype} {}
  void operator()(const Array& array) const;
};

/// Uniform with half width scale sqrt(3 / fan_in). LeCun et al. 1998; chainer.initializers.LeCunUniform.
struct KUSARI_API LeCunUniform : ScaleOptions {
  explicit LeCunUniform(const ScaleOptions& options = {}) : ScaleOptions{options} {}
  explicit LeCunUniform(double factor, std::optional<Dtype> array_dtype = std::nullopt)
      : ScaleOptions{factor, array_dtype} {}
  void operator()(const Array& array) const;
};

}  // namespace kusari::initializers
