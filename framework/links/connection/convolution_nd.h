#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/connection/convolution_nd.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::links {

/// Options of the convolution links.
struct ConvolutionOptions {
  ByName by_name = {};
  PerAxis stride = 1;
  PerAxis pad = 0;
  bool nobias = false;
  Initializer initial_w = {};  ///< default: LeCunNormal
  Initializer initial_bias = 0;
  bool cover_all = false;  ///< see functions::ConvolutionOptions
  PerAxis dilate = 1;
  int64_t groups = 1;
  bool relu = false;  ///< F::relu of the result, see functions::ConvolutionOptions
};

/// F::convolution_nd with its filters. x: (N, in_channels, in...); returns (N, out_channels, out...).
/// Throws ValueError when a number of channels is no multiple of groups, and what F::convolution_nd throws.
/// chainer.links.ConvolutionND.
class KUSARI_API ConvolutionND : public Link {
 public:
  using Options = ConvolutionOptions;
  /// For ndim spatial axes. in_channels may be kInfer. ksize: size of the kernel.
  ConvolutionND(int ndim, int64_t in_channels, int64_t out_channels, const PerAxis& ksize, Options options = {});
  /// With these filters, W: (out_channels, in_channels / groups, kernel...), and b: (out_channels), zeros when
  /// undefined. The initializers of the options do not count. Throws ValueError when the shapes do not fit.
  /// chainer.links.ConvolutionND.from_params.
  static ConvolutionND from_params(const Array& W, const Array& b = {}, Options options = {});

  Variable operator()(const Variable& x) const;
  /// The same, and while training the sums for a batch normalization that comes next, where the device gives them on
  /// the way: see functions::convolution_nd_with_sums. Without them if there is a b.
  functions::ConvolutionWithSums with_sums(const Variable& x) const;
  std::vector<std::pair<std::string, std::string>> printable_specs() const override;
  const functions::ConvolutionOptions& geometry() const noexcept { return geometry_; }

  Parameter W;          ///< (out_channels, in_channels / groups, kernel...), channels innermost in memory
  OptionalParameter b;  ///< (out_channels); absent with nobias

 private:
  void prepare(const Variable& x) const;

  functions::ConvolutionOptions geometry_;
};

/// ConvolutionND for x: (N, in_channels, length). chainer.links.Convolution1D.
class KUSARI_API Convolution1D : public ConvolutionND {
 public:
  Convolution1D(int64_t in_channels, int64_t out_channels, const PerAxis& ksize, Options options = {})
      : ConvolutionND(1, in_channels, out_channels, ksize, std::move(options)) {}
};

/// ConvolutionND for x: (N, in_channels, depth, H, W). chainer.links.Convolution3D.
class KUSARI_API Convolution3D : public ConvolutionND {
 public:
  Convolution3D(int64_t in_channels, int64_t out_channels, const PerAxis& ksize, Options options = {})
      : ConvolutionND(3, in_channels, out_channels, ksize, std::move(options)) {}
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
