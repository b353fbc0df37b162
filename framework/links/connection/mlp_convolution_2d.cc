#include "kusari/framework/links/connection/mlp_convolution_2d.h"

#include <utility>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes.h"

namespace kusari::links {

MLPConvolution2D::MLPConvolution2D(int64_t in_channels, const std::vector<int64_t>& out_channels, const PerAxis& ksize,
                                   Options options)
    : activation{argument::callable("L::MLPConvolution2D", "activation", std::move(options.activation))} {
  if (out_channels.empty())
    throw ValueError("L::MLPConvolution2D: out_channels is empty: it must have a number for each convolution");
  size_or_infer("L::MLPConvolution2D", "in_channels", in_channels);
  for (const int64_t channels : out_channels) argument::not_negative("L::MLPConvolution2D", "out_channels", channels);
  ConvolutionOptions first = {
      .stride = options.stride, .pad = options.pad, .initial_w = options.conv_init, .initial_bias = options.bias_init};
  append(Convolution2D(in_channels, out_channels[0], ksize, std::move(first)));
  for (size_t i = 1; i < out_channels.size(); ++i) {
    append(Convolution2D(out_channels[i - 1], out_channels[i], 1,
                         {.initial_w = options.conv_init, .initial_bias = options.bias_init}));
  }
}

Variable MLPConvolution2D::operator()(const Variable& x) const {
  const LinkCall call(*this);
  Variable h = (*this)[0](x);
  for (size_t i = 1; i < size(); ++i) h = (*this)[i](activation(h));
  return h;
}

}  // namespace kusari::links
