#pragma once

#include <optional>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

namespace kusari::initializers {

/// Normal with deviation scale sqrt(2 / (fan_in + fan_out)). Glorot and Bengio 2010;
/// chainer.initializers.GlorotNormal.
struct KUSARI_API GlorotNormal {
  double scale;
  std::optional<Dtype> dtype;
  explicit GlorotNormal(double factor = 1, std::optional<Dtype> array_dtype = std::nullopt)
      : scale{factor}, dtype{array_dtype} {}
  void operator()(const Array& array) const;
};

/// Uniform with half width scale sqrt(6 / (fan_in + fan_out)). Glorot and Bengio 2010;
/// chainer.initializers.GlorotUniform.
struct KUSARI_API GlorotUniform {
  double scale;
  std::optional<Dtype> dtype;
  explicit GlorotUniform(double factor = 1, std::optional<Dtype> array_dtype = std::nullopt)
      : scale{factor}, dtype{array_dtype} {}
  void operator()(const Array& array) const;
};

}  // namespace kusari::initializers
