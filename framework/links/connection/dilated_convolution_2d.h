#pragma once

#include "kusari/framework/links/connection/convolution_2d.h"

namespace kusari::links {

/// Options of L::DilatedConvolution2D.
struct DilatedConvolutionOptions {
  ByName by_name = {};
  PerAxis stride = 1;
  PerAxis pad = 0;
  PerAxis dilate = 1;
  bool nobias = false;
  Initializer initial_w = {};  ///< default: LeCunNormal
  Initializer initial_bias = 0;
};

/// Convolution2D under the name that Chainer keeps for kernels with holes. chainer.links.DilatedConvolution2D.
class KUSARI_API DilatedConvolution2D : public Convolution2D {
 public:
  using Options = DilatedConvolutionOptions;
  /// in_channels may be kInfer. ksize: a number or a PerAxis{3, 1}.
  template <std::convertible_to<PerAxis> Size>
  DilatedConvolution2D(int64_t in_channels, int64_t out_channels, const Size& ksize, Options options = {})
      : Convolution2D(in_channels, out_channels, ksize, with_dilate(std::move(options))) {}
  /// in_channels is taken from the first batch.
  DilatedConvolution2D(int64_t out_channels, const PerAxis& ksize, Options options = {})
      : Convolution2D(out_channels, ksize, with_dilate(std::move(options))) {}

 private:
  static ConvolutionOptions with_dilate(Options options) {
    return {.stride = options.stride,
            .pad = options.pad,
            .nobias = options.nobias,
            .initial_w = std::move(options.initial_w),
            .initial_bias = std::move(options.initial_bias),
            .dilate = options.dilate};
  }
};

}  // namespace kusari::links
