#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/connection/depthwise_convolution_2d.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::links {

/// Options of L::DepthwiseConvolution2D.
struct DepthwiseConvolutionOptions {
  PerAxis stride = 1;
  PerAxis pad = 0;
  bool nobias = false;
  Initializer initial_w = {};  ///< default: HeNormal(1 / sqrt(2))
  Initializer initial_bias = 0;
};

/// F::depthwise_convolution_2d with its filters. x: (N, in_channels, H, W); returns (N, in_channels
/// channel_multiplier, out_h, out_w). Throws what F::depthwise_convolution_2d throws.
/// chainer.links.DepthwiseConvolution2D.
class KUSARI_API DepthwiseConvolution2D : public Link {
 public:
  using Options = DepthwiseConvolutionOptions;
  /// in_channels may be kInfer.
  DepthwiseConvolution2D(int64_t in_channels, int64_t channel_multiplier, const PerAxis& ksize, Options options = {});

  Variable operator()(const Variable& x) const;
  std::vector<std::pair<std::string, std::string>> printable_specs() const override;

  Parameter W;          ///< (channel_multiplier, in_channels, kh, kw)
  OptionalParameter b;  ///< (in_channels channel_multiplier); absent with nobias

 private:
  functions::DepthwiseConvolutionOptions geometry_;
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
