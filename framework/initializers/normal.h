#pragma once

#include <optional>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

namespace kusari::initializers {

struct NormalOptions {
  double scale = 0.05;
  std::optional<Dtype> dtype = std::nullopt;  ///< of the array; default: the parameter's
};

/// Every element drawn from N(0, scale^2). chainer.initializers.Normal.
struct KUSARI_API Normal : NormalOptions {
  explicit Normal(const NormalOptions& options = {}) : NormalOptions{options} {}
  explicit Normal(double deviation, std::optional<Dtype> array_dtype = std::nullopt)
      : NormalOptions{deviation, array_dtype} {}
  void operator()(const Array& array) const;
};

}  // namespace kusari::initializers
