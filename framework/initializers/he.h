#pragma once

#include <optional>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/initializers/fan_option.h"
#include "kusari/framework/initializers/scale_options.h"

namespace kusari::initializers {

struct HeNormalOptions {
  double scale = 1;
  FanOption fan_option = FanOption::fan_in;
  std::optional<Dtype> dtype = std::nullopt;  ///< of the array; default: the parameter's
};

/// Normal with deviation scale sqrt(2 / fan). He et al. 2015; chainer.initializers.HeNormal.
struct KUSARI_API HeNormal : HeNormalOptions {
  explicit HeNormal(const HeNormalOptions& options = {}) : HeNormalOptions{options} {}
  explicit HeNormal(double factor, FanOption fan = FanOption::fan_in, std::optional<Dtype> array_dtype = std::nullopt)
      : HeNormalOptions{factor, fan, array_dtype} {}
  void operator()(const Array& array) const;
};

/// Uniform with half width scale sqrt(6 / fan_in). He et al. 2015; chainer.initializers.HeUniform.
struct KUSARI_API HeUniform : ScaleOptions {
  explicit HeUniform(const ScaleOptions& options = {}) : ScaleOptions{options} {}
  explicit HeUniform(double factor, std::optional<Dtype> array_dtype = std::nullopt)
      : ScaleOptions{factor, array_dtype} {}
  void operator()(const Array& array) const;
};

}  // namespace kusari::initializers
