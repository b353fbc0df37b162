#pragma once

#include <concepts>
#include <utility>

#include "kusari/framework/links/connection/convolution_nd.h"
#include "kusari/framework/links/connection/filters.h"

namespace kusari::links {

/// ConvolutionND for x: (N, in_channels, H, W):
/// `Child<L::Convolution2D> conv1{*this, "conv1", 3, 64, 7, {.stride = 2, .pad = 3}}`. chainer.links.Convolution2D.
class KUSARI_API Convolution2D : public ConvolutionND {
 public:
  /// in_channels may be kInfer. ksize: a number or a PerAxis{3, 1}.
  template <std::convertible_to<PerAxis> Size>
  Convolution2D(int64_t in_channels, int64_t out_channels, const Size& ksize, Options options = {})
      : ConvolutionND(2, in_channels, out_channels, ksize, std::move(options)) {}
  /// As ConvolutionND::from_params, W having 4 axes. chainer.links.Convolution2D.from_params.
  static Convolution2D from_params(const Array& W, const Array& b = {}, Options options = {}) {
    check_filters("L::Convolution2D::from_params", W, 4, 4);
    return Convolution2D(ConvolutionND::from_params(W, b, std::move(options)));
  }
  /// in_channels is taken from the first batch.
  Convolution2D(int64_t out_channels, const PerAxis& ksize, Options options = {})
      : ConvolutionND(2, kInfer, out_channels, ksize, std::move(options)) {}

 private:
  explicit Convolution2D(ConvolutionND&& link) noexcept : ConvolutionND(std::move(link)) {}
};

}  // namespace kusari::links
