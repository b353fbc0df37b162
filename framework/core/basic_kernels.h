#pragma once

#include "kusari/framework/core/kernel.h"

// The kernels that Array itself needs.
namespace kusari::kernels {

/// y = x with dtype conversion; equal shapes, any strides, one device.
struct Copy {
  static constexpr const char* kName = "copy";
  using Signature = void(In x, Out y);
};

/// Every element of y becomes `value`; any strides.
struct Fill {
  static constexpr const char* kName = "fill";
  using Signature = void(Params<Scalar> value, Out y);
};

/// y[i] = i, y has one axis.
struct Arange {
  static constexpr const char* kName = "arange";
  using Signature = void(Out y);
};

}  // namespace kusari::kernels
