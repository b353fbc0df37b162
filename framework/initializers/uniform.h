#pragma once

#include <optional>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

namespace kusari::initializers {

struct UniformOptions {
  double scale = 0.05;
  std::optional<Dtype> dtype = std::nullopt;  ///< of the array; default: the parameter's
};

/// Every element drawn uniformly from [-scale, scale). chainer.initializers.Uniform.
struct KUSARI_API Uniform : UniformOptions {
  explicit Uniform(const UniformOptions& options = {}) : UniformOptions{options} {}
  explicit Uniform(double half_width, std::optional<Dtype> array_dtype = std::nullopt)
      : UniformOptions{half_width, array_dtype} {}
  void operator()(const Array& array) const;
};

}  // namespace kusari::initializers
