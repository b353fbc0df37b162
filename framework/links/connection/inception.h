#pragma once

#include <cstdint>

#include "kusari/framework/links/connection/convolution_2d.h"

namespace kusari::links {

/// Numbers of channels of L::Inception, and its other options.
struct InceptionOptions {
  int64_t out1 = 0;            ///< of the 1x1 convolution
  int64_t proj3 = 0;           ///< of the projection before the 3x3 convolution
  int64_t out3 = 0;            ///< of the 3x3 convolution
  int64_t proj5 = 0;           ///< of the projection before the 5x5 convolution
  int64_t out5 = 0;            ///< of the 5x5 convolution
  int64_t proj_pool = 0;       ///< of the projection behind the pooling
  Initializer conv_init = {};  ///< of filters; default: LeCunNormal
  Initializer bias_init = 0;   ///< of biases
};

/// Convolutions of 1x1, 3x3 and 5x5 and a 3x3 max pooling of the same x side by side, the larger ones behind 1x1
/// projections. x: (N, in_channels, H, W); returns (N, out1 + out3 + out5 + proj_pool, H, W).
/// Throws what F::convolution_2d throws. Szegedy et al. 2014; chainer.links.Inception.
class KUSARI_API Inception : public Chain {
 public:
  using Options = InceptionOptions;
  /// in_channels may be kInfer: `Child<L::Inception> inc3a{*this, "inc3a", 192, {.out1 = 64, .proj3 = 96, ...}}`.
  Inception(int64_t in_channels, const Options& options);

  Variable operator()(const Variable& x) const;

  Child<Convolution2D> conv1, proj3, conv3, proj5, conv5, projp;
};

}  // namespace kusari::links
