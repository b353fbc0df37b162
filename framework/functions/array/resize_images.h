#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// How pixels between pixels are found.
enum class ResizeMode : uint8_t { bilinear, nearest };

struct ResizeImagesOptions {
  ResizeMode mode = ResizeMode::bilinear;
  bool align_corners = true;  ///< bilinear: corner pixels fall on corner pixels; false: edges on edges, as OpenCV does
};

/// Images of another size. Bilinear: y between the four pixels of x around the place of each new one; nearest:
/// y[n, c, i, j] = x[n, c, floor(i H / new H), floor(j W / new W)].
/// x: (N, C, H, W), floating, H and W positive. output_shape: (new H, new W), positive. Returns y: (N, C, new H, new W)
/// of x's dtype, channels-last in memory; computed in float32 at least. Throws TypeError when x does not fit,
/// ValueError for an output_shape that is not two positive numbers. Differentiable to any order.
/// chainer.functions.resize_images, which takes float32 alone.
KUSARI_API Variable resize_images(const Variable& x, const Dims& output_shape, const ResizeImagesOptions& options = {});

}  // namespace kusari::functions
