#pragma once

#include <optional>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/initializers/scale_options.h"

namespace kusari::initializers {

/// Normal with deviation scale sqrt(2 / (fan_in + fan_out)). Glorot and Bengio 2010;
/// chainer.initializers.GlorotNormal.
struct KUSARI_API GlorotNormal : ScaleOptions {
  explicit GlorotNormal(const ScaleOptions& options = {}) : ScaleOptions{options} {}
  explicit GlorotNormal(double factor, std::optional<Dtype> array_dtype = std::nullopt)
      : ScaleOptions{factor, array_dtype} {}
  void operator()(const Array& array) const;
};

/// Uniform with half width scale sqrt(6 / (fan_in + fan_out)). Glorot and Bengio 2010;
/// chainer.initializers.GlorotUniform.
struct KUSARI_API GlorotUniform : ScaleOptions {
  explicit GlorotUniform(const ScaleOptions& options = {}) : ScaleOptions{options} {}
  explicit GlorotUniform(double factor, std::optional<Dtype> array_dtype = std::nullopt)
      : ScaleOptions{factor, array_dtype} {}
  void operator()(const Array& array) const;
};

}  // namespace kusari::initializers
