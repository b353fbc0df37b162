#pragma once

#include <cstdint>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/normalization/batch_normalization.h"

namespace kusari::links {

struct SegNetBasicOptions {
  Initializer initial_w = {};  ///< of the convolutions; default: HeNormal
};

/// A network that classifies each pixel: four 7x7 convolutions of 64 channels with batch normalization, ReLU and max
/// pooling by 2, then four that take what was pooled back to the places of the maxima, and a 1x1 convolution. The
/// images are normalized across their channels first, so their scale does not matter.
/// Badrinarayanan et al. 2015; chainercv.links.SegNetBasic, whose parameters have the same paths.
class KUSARI_API SegNetBasic : public Chain {
 public:
  using Options = SegNetBasicOptions;
  /// Throws ValueError unless n_class is in [1, 10000].
  explicit SegNetBasic(int64_t n_class, const Options& options = {});

  /// x: (N, C, H, W), floating. Returns the classes' scores before softmax, (N, n_class, H, W).
  Variable operator()(const Variable& x) const;
  /// The class with the highest score of each pixel: (H, W) int32 on the CPU for each image, in test mode and without a
  /// graph. images: (C, H, W) of any dtype, on any device, of any sizes; those of one size that follow each other are
  /// computed together. Throws TypeError for another shape.
  std::vector<Array> predict(const std::vector<Array>& images) const;

  Child<Convolution2D> conv1;
  Child<BatchNormalization> conv1_bn;
  Child<Convolution2D> conv2;
  Child<BatchNormalization> conv2_bn;
  Child<Convolution2D> conv3;
  Child<BatchNormalization> conv3_bn;
  Child<Convolution2D> conv4;
  Child<BatchNormalization> conv4_bn;
  Child<Convolution2D> conv_decode4;
  Child<BatchNormalization> conv_decode4_bn;
  Child<Convolution2D> conv_decode3;
  Child<BatchNormalization> conv_decode3_bn;
  Child<Convolution2D> conv_decode2;
  Child<BatchNormalization> conv_decode2_bn;
  Child<Convolution2D> conv_decode1;
  Child<BatchNormalization> conv_decode1_bn;
  Child<Convolution2D> conv_classifier;
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
