#include "kusari/framework/links/connection/deformable_convolution_2d.h"

#include <utility>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/connection/deformable_convolution_2d_sampler.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/links/connection/filters.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes.h"
#include "kusari/framework/links/sizes_on_trial.h"

namespace kusari::links {
namespace {

constexpr const char* kSampler = "L::DeformableConvolution2DSampler";
constexpr const char* kDeformable = "L::DeformableConvolution2D";

}  // namespace

DeformableConvolution2DSampler::DeformableConvolution2DSampler(int64_t in_channels, int64_t out_channels,
                                                               const PerAxis& ksize, Options options)
    : W{*this, "W",
        filter_shape(kSampler, 2, argument::not_negative(kSampler, "out_channels", out_channels),
                     size_or_infer(kSampler, "in_channels", in_channels), ksize),
        std::move(options.initial_w)},
      b{*this, "b", {out_channels}, std::move(options.initial_bias), !options.nobias},
      stride_{options.stride},
      pad_{options.pad} {}

Variable DeformableConvolution2DSampler::operator()(const Variable& x, const Variable& offset) const {
  const kusari::detail::SizesOnTrial sizes(W);
  if (!W.is_initialized()) {
    check_images("L::DeformableConvolution2DSampler", x, 2);
    W.infer(1, x.shape()[1]);
  }
  const LinkCall call(*this);
  return functions::deformable_convolution_2d_sampler(x, offset, W, b, {.stride = stride_, .pad = pad_});
}

DeformableConvolution2D::DeformableConvolution2D(int64_t in_channels, int64_t out_channels, const PerAxis& ksize,
                                                 Options options)
    : offset_conv{*this,
                  "offset_conv",
                  size_or_infer(kDeformable, "in_channels", in_channels),
                  2 * checked_numel(filter_shape(kDeformable, 2, 1, 1, ksize), 2, kDeformable),
                  ksize,
                  {.stride = options.stride,
                   .pad = options.pad,
                   .nobias = options.offset_nobias,
                   .initial_w = std::move(options.offset_initial_w),
                   .initial_bias = std::move(options.offset_initial_bias)}},
      deform_conv{*this,
                  "deform_conv",
                  in_channels,
                  argument::not_negative(kDeformable, "out_channels", out_channels),
                  ksize,
                  {.stride = options.stride,
                   .pad = options.pad,
                   .nobias = options.deform_nobias,
                   .initial_w = std::move(options.deform_initial_w),
                   .initial_bias = std::move(options.deform_initial_bias)}} {}

Variable DeformableConvolution2D::operator()(const Variable& x) const {
  const kusari::detail::SizesOnTrial sizes(offset_conv.W);
  const LinkCall call(*this);
  const Variable offset = offset_conv(x);
  return deform_conv(x, offset);
}

}  // namespace kusari::links
