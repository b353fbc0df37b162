#pragma once

#include "kusari/framework/core/shape.h"

namespace kusari::functions {

/// The permutation of axes that undoes `axes`.
inline Dims inverse_permutation(const Dims& axes) {
  Dims result = axes;
  for (int i = 0; i < axes.ndim(); ++i) result[static_cast<int>(axes[i])] = i;
  return result;
}

}  // namespace kusari::functions
