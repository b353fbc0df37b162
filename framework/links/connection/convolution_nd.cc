#include "kusari/framework/links/connection/convolution_nd.h"

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/functions/connection/convolution_2d.h"
#include "kusari/framework/links/connection/filters.h"
#include "kusari/framework/links/first_call.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes.h"
#include "kusari/framework/links/sizes_on_trial.h"

namespace kusari::links {
namespace {

// As users call it for that many spatial axes.
const char* convolution_link(int ndim) {
  static constexpr const char* kNames[] = {"L::ConvolutionND", "L::Convolution1D", "L::Convolution2D",
                                           "L::Convolution3D"};
  return kNames[ndim >= 1 && ndim <= 3 ? ndim : 0];
}

}  // namespace

ConvolutionND::ConvolutionND(int ndim, int64_t in_channels, int64_t out_channels, const PerAxis& ksize, Options options)
    : W{*this, "W",
        filter_shape(convolution_link(ndim), ndim,
                     argument::not_negative(convolution_link(ndim), "out_channels", out_channels),
                     channels_of_group(convolution_link(ndim), "in_channels", in_channels, options.groups), ksize),
        std::move(options.initial_w)},
      b{*this, "b", {out_channels}, std::move(options.initial_bias), !options.nobias},
      geometry_{options.stride, options.pad, options.cover_all, options.dilate, options.groups, options.relu} {
  channels_of_group(convolution_link(ndim), "out_channels", out_channels, options.groups);
  W.keep_channels_last();
}

ConvolutionND ConvolutionND::from_params(const Array& W, const Array& b, Options options) {
  const std::string call = std::string(convolution_link(W.is_defined() ? W.ndim() - 2 : 0)) + "::from_params";
  check_filters(call.c_str(), W, 3, kMaxNdim);
  const int64_t in_channels = channels_of_groups(call.c_str(), W.shape()[1], options.groups),
                out_channels = W.shape()[0];
  options.initial_bias = given_bias(call.c_str(), b, out_channels);
  options.initial_w = W;
  return ConvolutionND(W.ndim() - 2, in_channels, out_channels, kernel_of(W.shape()), std::move(options));
}

void ConvolutionND::prepare(const Variable& x) const {
  if (W.is_initialized()) return;
  const kusari::detail::FirstCall alone;
  const int ndim = W.declared_shape().ndim() - 2;
  check_images(convolution_link(ndim), x, ndim);
  static constexpr const char* kFunctions[] = {"convolution_nd", "convolution_1d", "convolution_2d", "convolution_3d"};
  Shape filters = W.declared_shape();
  filters[1] = channels_of_group(convolution_link(ndim), "x.shape[1]", x.shape()[1], geometry_.groups);
  check_fit(kFunctions[ndim <= 3 ? ndim : 0], x, filters, geometry_);
  W.infer(1, filters[1]);
}

functions::ConvolutionWithSums ConvolutionND::with_sums(const Variable& x) const {
  if (b.is_defined() || !config().train) return {(*this)(x), Array()};
  prepare(x);
  const LinkCall call(*this);
  return functions::convolution_nd_with_sums(x, W, geometry_);
}

Variable ConvolutionND::operator()(const Variable& x) const {
  const kusari::detail::SizesOnTrial sizes(W);
  prepare(x);
  const LinkCall call(*this);
  switch (W.declared_shape().ndim()) {
    case 3:
      return functions::convolution_1d(x, W, b, geometry_);
    case 4:
      return functions::convolution_2d(x, W, b, geometry_);
    case 5:
      return functions::convolution_3d(x, W, b, geometry_);
    default:
      return functions::convolution_nd(x, W, b, geometry_);
  }
}

std::vector<std::pair<std::string, std::string>> ConvolutionND::printable_specs() const {
  const Shape& shape = W.declared_shape();
  const auto text = [&](const PerAxis& numbers) {
    return to_string(numbers.resolve(shape.ndim() - 2, convolution_link(0), ""));
  };
  return {{"in_channels", channels_text(shape[1], geometry_.groups)},
          {"out_channels", channels_text(shape[0])},
          {"ksize", kernel_text(shape)},
          {"stride", text(geometry_.stride)},
          {"pad", text(geometry_.pad)},
          {"nobias", b.is_defined() ? "False" : "True"},
          {"dilate", text(geometry_.dilate)},
          {"groups", std::to_string(geometry_.groups)}};
}

}  // namespace kusari::links
