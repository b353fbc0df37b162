#pragma once

#include "kusari/framework/core/kernel.h"

// Batches of images on their way to a model.
namespace kusari::kernels {

/// For each channel what scaled_pixel takes, scale being 1 / deviation.
struct ChannelScales {
  static constexpr int kMaxChannels = 16;
  double mean[kMaxChannels] = {};
  double scale[kMaxChannels] = {};
};

/// y[n, c, i, j] = (x[n, c, i, j'] - mean[c]) * scale[c], where j' is j, or W - 1 - j in images whose flag is not 0.
/// x: (N, C, H, W), uint8 or floating, C at most kMaxChannels; mirrored: (N), uint8, undefined where no image is
/// mirrored; y: x's shape, floating. Any strides; uint8 and channels-last is what implementations are made for.
/// Arithmetic is in float32, or float64 if that is y's dtype.
struct NormalizeImages {
  static constexpr const char* kName = "normalize_images";
  using Signature = void(Params<ChannelScales> scales, In x, In mirrored, Out y);
};

}  // namespace kusari::kernels
