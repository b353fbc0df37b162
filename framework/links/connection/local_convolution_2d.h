#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/per_axis.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::links {

struct LocalConvolution2DOptions {
  PerAxis stride = 1;
  bool nobias = false;
  Initializer initial_w = {};  ///< default: LeCunNormal
  Initializer initial_bias = 0;
};

/// Convolution with weights of its own at each place, see functions::local_convolution_2d.
/// x: (N, in_channels, H, W) with (H, W) = in_size; returns (N, out_channels, h, w). chainer.links.LocalConvolution2D,
/// which forgets the stride when it sizes W.
class KUSARI_API LocalConvolution2D : public Link {
 public:
  using Options = LocalConvolution2DOptions;
  /// in_channels and in_size may be kInfer. Throws ValueError when ksize does not fit into in_size.
  LocalConvolution2D(int64_t in_channels, int64_t out_channels, const PerAxis& in_size, const PerAxis& ksize,
                     Options options = {});

  Variable operator()(const Variable& x) const;

  Parameter W;          ///< (out_channels, h, w, in_channels, kh, kw)
  OptionalParameter b;  ///< (out_channels, h, w); absent with nobias

 private:
  Dims ksize_, stride_;
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
