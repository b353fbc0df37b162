#include "kusari/framework/links/connection/deconvolution_nd.h"

#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/connection/deconvolution_2d.h"
#include "kusari/framework/links/connection/filters.h"
#include "kusari/framework/links/first_call.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes.h"
#include "kusari/framework/links/sizes_on_trial.h"

namespace kusari::links {
namespace {

// As users call it for that many spatial axes.
const char* deconvolution_link(int ndim) {
  static constexpr const char* kNames[] = {"L::DeconvolutionND", "L::Deconvolution1D", "L::Deconvolution2D",
                                           "L::Deconvolution3D"};
  return kNames[ndim >= 1 && ndim <= 3 ? ndim : 0];
}

}  // namespace

DeconvolutionND::DeconvolutionND(int ndim, int64_t in_channels, int64_t out_channels, const PerAxis& ksize,
                                 Options options)
    : W{*this, "W",
        filter_shape(deconvolution_link(ndim), ndim,
                     size_or_infer(deconvolution_link(ndim), "in_channels", in_channels),
                     channels_of_group(deconvolution_link(ndim), "out_channels",
                                       argument::not_negative(deconvolution_link(ndim), "out_channels", out_channels),
                                       options.groups),
                     ksize),
        std::move(options.initial_w)},
      b{*this, "b", {out_channels}, std::move(options.initial_bias), !options.nobias},
      geometry_{options.stride, options.pad, options.outsize, options.dilate, options.groups} {
  channels_of_group(deconvolution_link(ndim), "in_channels", in_channels, options.groups);
  W.keep_channels_last();
}

DeconvolutionND DeconvolutionND::from_params(const Array& W, const Array& b, Options options) {
  const std::string call = std::string(deconvolution_link(W.is_defined() ? W.ndim() - 2 : 0)) + "::from_params";
  check_filters(call.c_str(), W, 3, kMaxNdim);
  const int64_t in_channels = W.shape()[0],
                out_channels = channels_of_groups(call.c_str(), W.shape()[1], options.groups);
  options.initial_bias = given_bias(call.c_str(), b, out_channels);
  options.initial_w = W;
  return DeconvolutionND(W.ndim() - 2, in_channels, out_channels, kernel_of(W.shape()), std::move(options));
}

Variable DeconvolutionND::operator()(const Variable& x) const {
  const kusari::detail::SizesOnTrial sizes(W);
  if (!W.is_initialized()) {
    const kusari::detail::FirstCall alone;
    const int ndim = W.declared_shape().ndim() - 2;
    check_images(deconvolution_link(ndim), x, ndim);
    channels_of_group(deconvolution_link(ndim), "x.shape[1]", x.shape()[1], geometry_.groups);
    W.infer(0, x.shape()[1]);
  }
  const LinkCall call(*this);
  switch (W.declared_shape().ndim()) {
    case 3:
      return functions::deconvolution_1d(x, W, b, geometry_);
    case 4:
      return functions::deconvolution_2d(x, W, b, geometry_);
    case 5:
      return functions::deconvolution_3d(x, W, b, geometry_);
    default:
      return functions::deconvolution_nd(x, W, b, geometry_);
  }
}

std::vector<std::pair<std::string, std::string>> DeconvolutionND::printable_specs() const {
  const Shape& shape = W.declared_shape();
  const auto text = [&](const PerAxis& numbers) {
    return to_string(numbers.resolve(shape.ndim() - 2, deconvolution_link(0), ""));
  };
  return {{"in_channels", channels_text(shape[0])},
          {"out_channels", channels_text(shape[1], geometry_.groups)},
          {"ksize", kernel_text(shape)},
          {"stride", text(geometry_.stride)},
          {"pad", text(geometry_.pad)},
          {"nobias", b.is_defined() ? "False" : "True"},
          {"dilate", text(geometry_.dilate)},
          {"groups", std::to_string(geometry_.groups)}};
}

}  // namespace kusari::links
