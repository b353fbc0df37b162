#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/connection/deconvolution_nd.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::links {

/// Options of the transposed convolution links.
struct DeconvolutionOptions {
  ByName by_name = {};
  PerAxis stride = 1;
  PerAxis pad = 0;
  bool nobias = false;
  Dims outsize = {};           ///< see functions::DeconvolutionOptions
  Initializer initial_w = {};  ///< default: LeCunNormal
  Initializer initial_bias = 0;
  PerAxis dilate = 1;
  int64_t groups = 1;
};

/// F::deconvolution_nd with its filters. x: (N, in_channels, in...); returns (N, out_channels, out...).
/// Throws ValueError when a number of channels is no multiple of groups, and what F::deconvolution_nd throws.
/// chainer.links.DeconvolutionND.
class KUSARI_API DeconvolutionND : public Link {
 public:
  using Options = DeconvolutionOptions;
  /// For ndim spatial axes. in_channels may be kInfer. ksize: size of the kernel.
  DeconvolutionND(int ndim, int64_t in_channels, int64_t out_channels, const PerAxis& ksize, Options options = {});
  /// With these filters, W: (in_channels, out_channels / groups, kernel...), and b: (out_channels), zeros when
  /// undefined. The initializers of the options do not count. Throws ValueError when the shapes do not fit.
  /// chainer.links.ConvolutionND.from_params.
  static DeconvolutionND from_params(const Array& W, const Array& b = {}, Options options = {});

  Variable operator()(const Variable& x) const;
  std::vector<std::pair<std::string, std::string>> printable_specs() const override;
  const functions::DeconvolutionOptions& geometry() const noexcept { return geometry_; }

  Parameter W;          ///< (in_channels, out_channels / groups, kernel...), channels innermost in memory
  OptionalParameter b;  ///< (out_channels); absent with nobias

 private:
  functions::DeconvolutionOptions geometry_;
};

/// DeconvolutionND for x: (N, in_channels, length). chainer.links.Deconvolution1D.
class KUSARI_API Deconvolution1D : public DeconvolutionND {
 public:
  Deconvolution1D(int64_t in_channels, int64_t out_channels, const PerAxis& ksize, Options options = {})
      : DeconvolutionND(1, in_channels, out_channels, ksize, std::move(options)) {}
};

/// DeconvolutionND for x: (N, in_channels, depth, H, W). chainer.links.Deconvolution3D.
class KUSARI_API Deconvolution3D : public DeconvolutionND {
 public:
  Deconvolution3D(int64_t in_channels, int64_t out_channels, const PerAxis& ksize, Options options = {})
      : DeconvolutionND(3, in_channels, out_channels, ksize, std::move(options)) {}
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
