#pragma once

#include <optional>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/initializers/fan_option.h"

namespace kusari::initializers {

/// Normal with deviation scale sqrt(2 / fan). He et al. 2015; chainer.initializers.HeNormal.
struct KUSARI_API HeNormal {
  double scale;
  FanOption fan_option;
  std::optional<Dtype> dtype;
  explicit HeNormal(double factor = 1, FanOption fan = FanOption::fan_in,
                    std::optional<Dtype> array_dtype = std::nullopt)
      : scale{factor}, fan_option{fan}, dtype{array_dtype} {}
  void operator()(const Array& array) const;
};

/// Uniform with half width scale sqrt(6 / fan_in). He et al. 2015; chainer.initializers.HeUniform.
struct KUSARI_API HeUniform {
  double scale;
  std::optional<Dtype> dtype;
  explicit HeUniform(double factor = 1, std::optional<Dtype> array_dtype = std::nullopt)
      : scale{factor}, dtype{array_dtype} {}
  void operator()(const Array& array) const;
};

}  // namespace kusari::initializers
