#pragma once

#include "kusari/framework/core/kernel.h"
#include "kusari/framework/kernels/image_resampling.h"

namespace kusari::kernels {

/// y = x at y's height and width, as resample_image says. x, y: (C, H, W), both uint8 or both float32, rows of pixels:
/// strides (1, any, C); y's without gaps.
struct ResampleImage {
  static constexpr const char* kName = "resample_image";
  using Signature = void(Params<Interpolation> interpolation, In x, Out y);
};

}  // namespace kusari::kernels
