#pragma once

#include <concepts>

#include "kusari/framework/links/connection/convolution_nd.h"

namespace kusari::links {

/// ConvolutionND for x: (N, in_channels, H, W):
/// `Child<L::Convolution2D> conv1{*this, "conv1", 3, 64, 7, {.stride = 2, .pad = 3}}`. chainer.links.Convolution2D.
class KUSARI_API Convolution2D : public ConvolutionND {
 public:
  /// in_channels may be kInfer. ksize: a number or a PerAxis{3, 1}.
  template <std::convertible_to<PerAxis> Size>
  Convolution2D(int64_t in_channels, int64_t out_channels, const Size& ksize, Options options = {})
      : ConvolutionND(2, in_channels, out_channels, ksize, std::move(options)) {}
  /// in_channels is taken from the first batch.
  Convolution2D(int64_t out_channels, const PerAxis& ksize, Options options = {})
      : ConvolutionND(2, kInfer, out_channels, ksize, std::move(options)) {}
};

}  // namespace kusari::links
