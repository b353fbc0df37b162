#pragma once

#include <optional>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

namespace kusari::initializers {

/// Every element drawn uniformly from [-scale, scale). chainer.initializers.Uniform.
struct KUSARI_API Uniform {
  double scale;
  std::optional<Dtype> dtype;
  explicit Uniform(double half_width = 0.05, std::optional<Dtype> array_dtype = std::nullopt)
      : scale{half_width}, dtype{array_dtype} {}
  void operator()(const Array& array) const;
};

}  // namespace kusari::initializers
