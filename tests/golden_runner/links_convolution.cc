#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/connection/deconvolution_2d.h"
#include "kusari/framework/links/connection/depthwise_convolution_2d.h"
#include "kusari/framework/links/connection/dilated_convolution_2d.h"
#include "kusari/tests/golden_runner/links.h"

namespace kusari::golden {
namespace {

L::ConvolutionOptions convolution_options(Args& a) {
  return {.stride = a.per_axis("stride", 1),
          .pad = a.per_axis("pad", 0),
          .nobias = a.flag("nobias", false),
          .cover_all = a.flag("cover_all", false),
          .dilate = a.per_axis("dilate", 1),
          .groups = a.integer("groups", 1)};
}
L::DeconvolutionOptions deconvolution_options(Args& a) {
  const Dims outsize = a.shape("outsize");
  return {.stride = a.per_axis("stride", 1),
          .pad = a.per_axis("pad", 0),
          .nobias = a.flag("nobias", false),
          .outsize = outsize.empty() ? std::nullopt : std::optional<Dims>(outsize),
          .dilate = a.per_axis("dilate", 1),
          .groups = a.integer("groups", 1)};
}

int64_t in_channels(Args& a) { return a.optional_integer("in_channels").value_or(kInfer); }

template <class T, class Options>
LinkFactory maker(Options (*options)(Args&)) {
  return [options](Args& a) {
    return link_of_x(T(in_channels(a), a.integer("out_channels", 0), a.per_axis("ksize", 0), options(a)));
  };
}
template <class T, class Options>
LinkFactory maker_nd(Options (*options)(Args&)) {
  return [options](Args& a) {
    return link_of_x(T(static_cast<int>(a.integer("ndim", 0)), in_channels(a), a.integer("out_channels", 0),
                       a.per_axis("ksize", 0), options(a)));
  };
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
      {"DepthwiseConvolution2D",
       [](Args& a) {
         return link_of_x(L::DepthwiseConvolution2D(
             in_channels(a), a.integer("channel_multiplier", 0), a.per_axis("ksize", 0),
             {.stride = a.per_axis("stride", 1), .pad = a.per_axis("pad", 0), .nobias = a.flag("nobias", false)}));
       }},
      {"DilatedConvolution2D",
       [](Args& a) {
         return link_of_x(L::DilatedConvolution2D(in_channels(a), a.integer("out_channels", 0), a.per_axis("ksize", 0),
                                                  {.stride = a.per_axis("stride", 1),
                                                   .pad = a.per_axis("pad", 0),
                                                   .dilate = a.per_axis("dilate", 1),
                                                   .nobias = a.flag("nobias", false)}));
       }},
  });
}

}  // namespace kusari::golden
