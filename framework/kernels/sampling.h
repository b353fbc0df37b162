#pragma once

#include "kusari/framework/core/kernel.h"

// Images read at places between their pixels. Floating, any strides; channels-last is what implementations are made
// for. Arithmetic is in float32 at least, and results are the same bits whatever the number of threads.
namespace kusari::kernels {

/// Where the pixels of a resized image lie in the given one.
struct Resize {
  bool nearest = false;        ///< the pixel at floor(i * size / new_size) instead of an interpolation
  bool align_corners = false;  ///< first and last pixels fall on each other, not the edges of the image
};

/// y = x resized to y's height and width. x: (N, C, H, W), H and W positive; y: (N, C, new H, new W).
struct ResizeImages {
  static constexpr const char* kName = "resize_images";
  using Signature = void(Params<Resize> resize, In x, Out y);
};

/// The adjoint of ResizeImages: each gy is shared out to the pixels that it was made of.
struct ResizeImagesGrad {
  static constexpr const char* kName = "resize_images_grad";
  using Signature = void(Params<Resize> resize, In gy, Out gx);
};

/// y[n, :, i, j] = x between the four pixels around (points[n, 0, i, j], points[n, 1, i, j]), which are column and row
/// counted from the first pixel's centre; 0 outside of x. x: (N, C, H, W), points: (N, 2, h, w), y: (N, C, h, w).
struct SampleBilinear {
  static constexpr const char* kName = "sample_bilinear";
  using Signature = void(In x, In points, Out y);
};

/// gx and gpoints, either of them undefined if nobody wants it, from the gradient of y. Where a point is on a pixel,
/// gpoints is the slope towards higher coordinates; it is 0 at and beyond one pixel outside of x.
struct SampleBilinearGrad {
  static constexpr const char* kName = "sample_bilinear_grad";
  using Signature = void(In x, In points, In gy, Out gx, Out gpoints);
};

}  // namespace kusari::kernels
