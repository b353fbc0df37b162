#pragma once

#include <concepts>

#include "kusari/framework/links/connection/deconvolution_nd.h"

namespace kusari::links {

/// DeconvolutionND for x: (N, in_channels, H, W). chainer.links.Deconvolution2D.
class KUSARI_API Deconvolution2D : public DeconvolutionND {
 public:
  /// in_channels may be kInfer. ksize: a number or a PerAxis{3, 1}.
  template <std::convertible_to<PerAxis> Size>
  Deconvolution2D(int64_t in_channels, int64_t out_channels, const Size& ksize, Options options = {})
      : DeconvolutionND(2, in_channels, out_channels, ksize, std::move(options)) {}
  /// in_channels is taken from the first batch.
  Deconvolution2D(int64_t out_channels, const PerAxis& ksize, Options options = {})
      : DeconvolutionND(2, kInfer, out_channels, ksize, std::move(options)) {}
};

}  // namespace kusari::links
