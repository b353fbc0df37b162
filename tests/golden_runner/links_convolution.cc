#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/connection/deconvolution_2d.h"
#include "kusari/framework/links/connection/depthwise_convolution_2d.h"
#include "kusari/framework/links/connection/dilated_convolution_2d.h"
#include "kusari/framework/links/connection/inception.h"
#include "kusari/framework/links/connection/inceptionbn.h"
#include "kusari/framework/links/connection/mlp_convolution_2d.h"
#include "kusari/tests/golden_runner/link_makers.h"

namespace kusari::golden {
namespace {

template <class Options>
Options with_starts(Args& a, Options options) {
  options.nobias = a.flag("nobias");
  options.initial_w = initializer_argument(a, "initialW", {});
  options.initial_bias = initializer_argument(a, "initial_bias", 0);
  return options;
}

L::ConvolutionOptions convolution_options(Args& a) {
  // Convolution2D has no cover_all.
  return with_starts(
      a, L::ConvolutionOptions{.stride = a.per_axis("stride"),
                               .pad = a.per_axis("pad"),
                               .cover_all = a.signature().find("cover_all") != nullptr && a.flag("cover_all"),
                               .dilate = a.per_axis("dilate"),
                               .groups = a.integer("groups")});
}
L::DeconvolutionOptions deconvolution_options(Args& a) {
  return with_starts(a, L::DeconvolutionOptions{.stride = a.per_axis("stride"),
                                                .pad = a.per_axis("pad"),
                                                .outsize = a.shape_or_empty("outsize"),
                                                .dilate = a.per_axis("dilate"),
                                                .groups = a.integer("groups")});
}

int64_t in_channels(Args& a) { return a.optional_integer("in_channels").value_or(kInfer); }

template <class T, class Options>
LinkFactory maker(Options (*options)(Args&)) {
  return [options](Args& a) {
    const FilterSizes sizes = filter_sizes(a);
    return link_of_x(T(sizes.in_channels, sizes.out_channels.at(0), sizes.ksize, options(a)));
  };
}
template <class T, class Options>
LinkFactory maker_nd(Options (*options)(Args&)) {
  return [options](Args& a) {
    const FilterSizes sizes = filter_sizes(a);
    return link_of_x(
        T(static_cast<int>(a.integer("ndim")), sizes.in_channels, sizes.out_channels.at(0), sizes.ksize, options(a)));
  };
}

LinkUnderTest depthwise(Args& a) {
  return link_of_x(L::DepthwiseConvolution2D(
      in_channels(a), a.integer("channel_multiplier"), a.per_axis("ksize"),
      with_starts(a, L::DepthwiseConvolutionOptions{.stride = a.per_axis("stride"), .pad = a.per_axis("pad")})));
}

LinkUnderTest dilated(Args& a) {
  const FilterSizes sizes = filter_sizes(a);
  return link_of_x(L::DilatedConvolution2D(
      sizes.in_channels, sizes.out_channels.at(0), sizes.ksize,
      with_starts(a, L::DilatedConvolutionOptions{
                         .stride = a.per_axis("stride"), .pad = a.per_axis("pad"), .dilate = a.per_axis("dilate")})));
}

LinkUnderTest inception(Args& a) {
  return link_of_x(L::Inception(in_channels(a), {.out1 = a.integer("out1"),
                                                 .proj3 = a.integer("proj3"),
                                                 .out3 = a.integer("out3"),
                                                 .proj5 = a.integer("proj5"),
                                                 .out5 = a.integer("out5"),
                                                 .proj_pool = a.integer("proj_pool"),
                                                 .conv_init = initializer_argument(a, "conv_init", {}),
                                                 .bias_init = initializer_argument(a, "bias_init", 0)}));
}

LinkUnderTest inception_bn(Args& a) {
  return link_of_x(L::InceptionBN(in_channels(a), {.out1 = a.integer("out1"),
                                                   .proj3 = a.integer("proj3"),
                                                   .out3 = a.integer("out3"),
                                                   .proj33 = a.integer("proj33"),
                                                   .out33 = a.integer("out33"),
                                                   .pooltype = a.text("pooltype"),
                                                   .proj_pool = a.optional_integer("proj_pool"),
                                                   .stride = a.integer("stride"),
                                                   .conv_init = initializer_argument(a, "conv_init", {}),
                                                   .dtype = a.optional_dtype("dtype")}));
}

LinkUnderTest mlp(Args& a) {
  const FilterSizes sizes = filter_sizes(a);
  return link_of_x(L::MLPConvolution2D(sizes.in_channels, sizes.out_channels, sizes.ksize,
                                       {.stride = a.per_axis("stride"),
                                        .pad = a.per_axis("pad"),
                                        .activation = activation_argument(a, "activation"),
                                        .conv_init = initializer_argument(a, "conv_init", {}),
                                        .bias_init = initializer_argument(a, "bias_init", 0)}));
}

}  // namespace

void add_convolution_links(LinkTable& table) {
  table.insert({
      {"Convolution1D", maker<L::Convolution1D>(convolution_options)},
      {"Convolution2D", maker<L::Convolution2D>(convolution_options)},
      {"Convolution3D", maker<L::Convolution3D>(convolution_options)},
      {"ConvolutionND", maker_nd<L::ConvolutionND>(convolution_options)},
      {"Deconvolution1D", maker<L::Deconvolution1D>(deconvolution_options)},
      {"Deconvolution2D", maker<L::Deconvolution2D>(deconvolution_options)},
      {"Deconvolution3D", maker<L::Deconvolution3D>(deconvolution_options)},
      {"DeconvolutionND", maker_nd<L::DeconvolutionND>(deconvolution_options)},
      {"DepthwiseConvolution2D", depthwise},
      {"DilatedConvolution2D", dilated},
      {"Inception", inception},
      {"InceptionBN", inception_bn},
      {"MLPConvolution2D", mlp},
  });
}

}  // namespace kusari::golden
