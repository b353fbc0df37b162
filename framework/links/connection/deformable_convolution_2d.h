#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/per_axis.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::links {

struct DeformableConvolution2DSamplerOptions {
  PerAxis stride = 1;
  PerAxis pad = 0;
  bool nobias = false;
  Initializer initial_w = 0;
  Initializer initial_bias = 0;
};

/// Convolution at given offsets, see functions::deformable_convolution_2d_sampler.
/// x: (N, in_channels, H, W), offset: (N, 2 kh kw, h, w); returns (N, out_channels, h, w).
/// chainer.links.connection.deformable_convolution_2d.DeformableConvolution2DSampler.
class KUSARI_API DeformableConvolution2DSampler : public Link {
 public:
  using Options = DeformableConvolution2DSamplerOptions;
  /// in_channels may be kInfer.
  DeformableConvolution2DSampler(int64_t in_channels, int64_t out_channels, const PerAxis& ksize, Options options = {});

  Variable operator()(const Variable& x, const Variable& offset) const;

  Parameter W;          ///< (out_channels, in_channels, kh, kw)
  OptionalParameter b;  ///< (out_channels); absent with nobias

 private:
  PerAxis stride_, pad_;
};

struct DeformableConvolution2DOptions {
  PerAxis stride = 1;
  PerAxis pad = 0;
  bool offset_nobias = false;
  Initializer offset_initial_w = {};  ///< default: LeCunNormal
  Initializer offset_initial_bias = 0;
  bool deform_nobias = false;
  Initializer deform_initial_w = 0;
  Initializer deform_initial_bias = 0;
};

/// Convolution whose kernel elements are moved by what another convolution of the same image says.
/// x: (N, in_channels, H, W), returns (N, out_channels, h, w). Dai et al. 2017, https://arxiv.org/abs/1703.06211;
/// chainer.links.DeformableConvolution2D.
class KUSARI_API DeformableConvolution2D : public Chain {
 public:
  using Options = DeformableConvolution2DOptions;
  /// in_channels may be kInfer.
  DeformableConvolution2D(int64_t in_channels, int64_t out_channels, const PerAxis& ksize, Options options = {});

  Variable operator()(const Variable& x) const;

  Child<Convolution2D> offset_conv;                   ///< gives the offsets
  Child<DeformableConvolution2DSampler> deform_conv;  ///< reads the image there
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
