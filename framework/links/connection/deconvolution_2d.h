#pragma once

#include <concepts>
#include <utility>

#include "kusari/framework/links/connection/deconvolution_nd.h"
#include "kusari/framework/links/connection/filters.h"

namespace kusari::links {

/// DeconvolutionND for x: (N, in_channels, H, W). chainer.links.Deconvolution2D.
class KUSARI_API Deconvolution2D : public DeconvolutionND {
 public:
  /// in_channels may be kInfer. ksize: a number or a PerAxis{3, 1}.
  template <std::convertible_to<PerAxis> Size>
  Deconvolution2D(int64_t in_channels, int64_t out_channels, const Size& ksize, Options options = {})
      : DeconvolutionND(2, in_channels, out_channels, ksize, std::move(options)) {}
  /// As DeconvolutionND::from_params, W having 4 axes. chainer.links.Deconvolution2D.from_params.
  static Deconvolution2D from_params(const Array& W, const Array& b = {}, Options options = {}) {
    check_filters("L::Deconvolution2D::from_params", W, 4, 4);
    return Deconvolution2D(DeconvolutionND::from_params(W, b, std::move(options)));
  }
  /// in_channels is taken from the first batch.
  Deconvolution2D(int64_t out_channels, const PerAxis& ksize, Options options = {})
      : DeconvolutionND(2, kInfer, out_channels, ksize, std::move(options)) {}

 private:
  explicit Deconvolution2D(DeconvolutionND&& link) noexcept : DeconvolutionND(std::move(link)) {}
};

}  // namespace kusari::links
