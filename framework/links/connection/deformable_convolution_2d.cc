#include "kusari/framework/links/connection/deformable_convolution_2d.h"

#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/connection/deformable_convolution_2d_sampler.h"
#include "kusari/framework/links/link_hook.h"

namespace kusari::links {
namespace {

Shape weight_shape(int64_t in_channels, int64_t out_channels, const PerAxis& ksize) {
  const Dims k = ksize.resolve(2, "L::DeformableConvolution2D", "ksize");
  return {out_channels, in_channels, k[0], k[1]};
}

}  // namespace

DeformableConvolution2DSampler::DeformableConvolution2DSampler(int64_t in_channels, int64_t out_channels,
                                                               const PerAxis& ksize, Options options)
    : W{*this, "W", weight_shape(in_channels, out_channels, ksize), std::move(options.initial_w)},
      b{*this, "b", {out_channels}, std::move(options.initial_bias), !options.nobias},
      stride_{options.stride},
      pad_{options.pad} {}

Variable DeformableConvolution2DSampler::operator()(const Variable& x, const Variable& offset) {
  if (!W.is_initialized()) {
    if (x.ndim() != 4) {
      throw TypeError("L::DeformableConvolution2DSampler: x has shape " + to_string(x.shape()) + ": x.ndim must be 4");
    }
    W.infer(1, x.shape()[1]);
  }
  const detail::LinkCall call(*this);
  return functions::deformable_convolution_2d_sampler(x, offset, W, b, {.stride = stride_, .pad = pad_});
}

DeformableConvolution2D::DeformableConvolution2D(int64_t in_channels, int64_t out_channels, const PerAxis& ksize,
                                                 Options options)
    : offset_conv{*this,
                  "offset_conv",
                  in_channels,
                  2 * numel(ksize.resolve(2, "L::DeformableConvolution2D", "ksize")),
                  ksize,
                  {.stride = options.stride,
                   .pad = options.pad,
                   .nobias = options.offset_nobias,
                   .initial_w = std::move(options.offset_initial_w),
                   .initial_bias = std::move(options.offset_initial_bias)}},
      deform_conv{*this,
                  "deform_conv",
                  in_channels,
                  out_channels,
                  ksize,
                  {.stride = options.stride,
                   .pad = options.pad,
                   .nobias = options.deform_nobias,
                   .initial_w = std::move(options.deform_initial_w),
                   .initial_bias = std::move(options.deform_initial_bias)}} {}

Variable DeformableConvolution2D::operator()(const Variable& x) {
  const detail::LinkCall call(*this);
  const Variable offset = offset_conv(x);
  return deform_conv(x, offset);
}

}  // namespace kusari::links
