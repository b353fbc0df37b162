#pragma once

#include <cstdint>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/link.h"

namespace kusari::links {

struct SeparableConvolution2DOptions {
  PerAxis stride = 1;  ///< of the depthwise convolution, as the next two
  PerAxis pad = 0;
  PerAxis dilate = 1;
  bool nobias = false;                   ///< of the pointwise one; the depthwise one never has a bias
  Initializer initial_depthwise_w = {};  ///< default: LeCunNormal
  Initializer initial_pointwise_w = {};
  Initializer initial_bias = 0;
};

/// A convolution of each channel by itself, and a 1x1 convolution of the results: /depthwise, /pointwise.
/// x: (N, in_channels, H, W). Returns (N, out_channels, H', W'). Throws what F::convolution_2d throws.
/// chainercv.links.SeparableConv2DBNActiv is this with a normalization; keras.layers.SeparableConv2D.
class KUSARI_API SeparableConvolution2D : public Chain {
 public:
  using Options = SeparableConvolution2DOptions;
  SeparableConvolution2D(int64_t in_channels, int64_t out_channels, const PerAxis& ksize, const Options& options = {});
  Variable operator()(const Variable& x) const;

  Child<Convolution2D> depthwise, pointwise;
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
