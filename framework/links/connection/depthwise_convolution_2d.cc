#include "kusari/framework/links/connection/depthwise_convolution_2d.h"

#include <cmath>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/initializers/he.h"
#include "kusari/framework/links/connection/filters.h"
#include "kusari/framework/links/first_call.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes.h"
#include "kusari/framework/links/sizes_on_trial.h"

namespace kusari::links {
namespace {

constexpr const char* kDepthwiseConvolution2D = "L::DepthwiseConvolution2D";

Initializer or_he_normal(Initializer initial_w) {
  return initial_w ? initial_w : Initializer(initializers::HeNormal(1 / std::sqrt(2.0)));
}

}  // namespace

DepthwiseConvolution2D::DepthwiseConvolution2D(int64_t in_channels, int64_t channel_multiplier, const PerAxis& ksize,
                                               Options options)
    : W{*this, "W",
        filter_shape(kDepthwiseConvolution2D, 2,
                     argument::not_negative(kDepthwiseConvolution2D, "channel_multiplier", channel_multiplier),
                     size_or_infer(kDepthwiseConvolution2D, "in_channels", in_channels), ksize),
        or_he_normal(std::move(options.initial_w))},
      b{*this,
        "b",
        {in_channels == kInfer ? kInfer : in_channels * channel_multiplier},
        std::move(options.initial_bias),
        !options.nobias},
      geometry_{options.stride, options.pad} {}

Variable DepthwiseConvolution2D::operator()(const Variable& x) const {
  const kusari::detail::SizesOnTrial sizes(W);
  if (!W.is_initialized()) {
    const kusari::detail::FirstCall alone;
    check_images(kDepthwiseConvolution2D, x, 2);
    Shape filters = W.declared_shape();
    filters[1] = x.shape()[1];
    check_fit("depthwise_convolution_2d", x, filters, {.stride = geometry_.stride, .pad = geometry_.pad});
    b.infer(0, x.shape()[1] * W.declared_shape()[0]);
    W.infer(1, x.shape()[1]);  // at last: other threads take it for both
  }
  const LinkCall call(*this);
  return functions::depthwise_convolution_2d(x, W, b, geometry_);
}

std::vector<std::pair<std::string, std::string>> DepthwiseConvolution2D::printable_specs() const {
  const Shape& shape = W.declared_shape();
  return {{"in_channels", channels_text(shape[1])},
          {"channel_multiplier", channels_text(shape[0])},
          {"ksize", kernel_text(shape)},
          {"stride", to_string(geometry_.stride.resolve(2, kDepthwiseConvolution2D, "stride"))},
          {"pad", to_string(geometry_.pad.resolve(2, kDepthwiseConvolution2D, "pad"))},
          {"nobias", b.is_defined() ? "False" : "True"}};
}

}  // namespace kusari::links
