#pragma once

#include <optional>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

namespace kusari::initializers {

/// Normal with deviation scale sqrt(1 / fan_in). LeCun et al. 1998; chainer.initializers.LeCunNormal.
struct KUSARI_API LeCunNormal {
  double scale;
  std::optional<Dtype> dtype;
  explicit LeCunNormal(double factor = 1, std::optional<Dtype> array_dtype = std::nullopt)
      : scale{factor}, dtype{array_dtype} {}
  void operator()(const Array& array) const;
};

/// Uniform with half width scale sqrt(3 / fan_in). LeCun et al. 1998; chainer.initializers.LeCunUniform.
struct KUSARI_API LeCunUniform {
  double scale;
  std::optional<Dtype> dtype;
  explicit LeCunUniform(double factor = 1, std::optional<Dtype> array_dtype = std::nullopt)
      : scale{factor}, dtype{array_dtype} {}
  void operator()(const Array& array) const;
};

}  // namespace kusari::initializers
