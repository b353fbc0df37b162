#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/connection/deconvolution_2d.h"
#include "kusari/framework/links/connection/depthwise_convolution_2d.h"
#include "kusari/framework/links/connection/dilated_convolution_2d.h"
#include "kusari/framework/links/connection/inception.h"
#include "kusari/framework/links/connection/inceptionbn.h"
#include "kusari/framework/links/connection/mlp_convolution_2d.h"
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
  return {.stride = a.per_axis("stride", 1),
          .pad = a.per_axis("pad", 0),
          .nobias = a.flag("nobias", false),
          .outsize = a.shape("outsize"),
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
      {"Inception",
       [](Args& a) {
         return link_of_x(L::Inception(in_channels(a), {.out1 = a.integer("out1", 0),
                                                        .proj3 = a.integer("proj3", 0),
                                                        .out3 = a.integer("out3", 0),
                                                        .proj5 = a.integer("proj5", 0),
                                                        .out5 = a.integer("out5", 0),
                                                        .proj_pool = a.integer("proj_pool", 0)}));
       }},
      {"InceptionBN",
       [](Args& a) {
         return link_of_x(L::InceptionBN(in_channels(a), {.out1 = a.integer("out1", 0),
                                                          .proj3 = a.integer("proj3", 0),
                                                          .out3 = a.integer("out3", 0),
                                                          .proj33 = a.integer("proj33", 0),
                                                          .out33 = a.integer("out33", 0),
                                                          .pooltype = a.text("pooltype", ""),
                                                          .proj_pool = a.optional_integer("proj_pool"),
                                                          .stride = a.integer("stride", 1)}));
       }},
      {"MLPConvolution2D",
       [](Args& a) {
         return link_of_x(L::MLPConvolution2D(in_channels(a), a.integers("out_channels"), a.per_axis("ksize", 0),
                                              {.stride = a.per_axis("stride", 1), .pad = a.per_axis("pad", 0)}));
       }},
  });
}

}  // namespace kusari::golden
