#include "kusari/framework/links/connection/separable_convolution_2d.h"

#include "kusari/framework/links/link_hook.h"

namespace kusari::links {

SeparableConvolution2D::SeparableConvolution2D(int64_t in_channels, int64_t out_channels, const PerAxis& ksize,
                                               const Options& options)
    : depthwise{*this,
                "depthwise",
                in_channels,
                in_channels,
                ksize,
                {.stride = options.stride,
                 .pad = options.pad,
                 .nobias = true,
                 .initial_w = options.initial_depthwise_w,
                 .dilate = options.dilate,
                 .groups = in_channels}},
      pointwise{
          *this,
          "pointwise",
          in_channels,
          out_channels,
          1,
          {.nobias = options.nobias, .initial_w = options.initial_pointwise_w, .initial_bias = options.initial_bias}} {}

Variable SeparableConvolution2D::operator()(const Variable& x) const {
  const LinkCall call(*this);
  return pointwise(depthwise(x));
}

}  // namespace kusari::links
