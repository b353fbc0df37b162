#pragma once

#include <optional>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

namespace kusari::initializers {

/// Every element drawn from N(0, scale^2). chainer.initializers.Normal.
struct KUSARI_API Normal {
  double scale;
  std::optional<Dtype> dtype;
  explicit Normal(double deviation = 0.05, std::optional<Dtype> array_dtype = std::nullopt)
      : scale{deviation}, dtype{array_dtype} {}
  void operator()(const Array& array) const;
};

}  // namespace kusari::initializers
