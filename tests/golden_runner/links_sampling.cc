#include "kusari/framework/links/connection/deformable_convolution_2d.h"
#include "kusari/framework/links/connection/local_convolution_2d.h"
#include "kusari/tests/golden_runner/links.h"

namespace kusari::golden {
namespace {

LinkUnderTest deformable(Args& a) {
  const L::DeformableConvolution2DOptions options{
      .stride = a.per_axis("stride"),
      .pad = a.per_axis("pad"),
      .offset_nobias = a.flag("offset_nobias"),
      .offset_initial_w = initializer_argument(a, "offset_initialW", {}),
      .offset_initial_bias = initializer_argument(a, "offset_initial_bias", 0),
      .deform_nobias = a.flag("deform_nobias"),
      .deform_initial_w = initializer_argument(a, "deform_initialW", 0),
      .deform_initial_bias = initializer_argument(a, "deform_initial_bias", 0)};
  return link_of_x(L::DeformableConvolution2D(a.optional_integer("in_channels").value_or(kInfer),
                                              a.integer("out_channels"), a.per_axis("ksize"), options));
}

LinkUnderTest local(Args& a) {
  const L::LocalConvolution2DOptions options{.stride = a.per_axis("stride"),
                                             .nobias = a.flag("nobias"),
                                             .initial_w = initializer_argument(a, "initialW", {}),
                                             .initial_bias = initializer_argument(a, "initial_bias", 0)};
  const std::optional<Shape> in_size = a.optional_shape("in_size");
  return link_of_x(L::LocalConvolution2D(a.optional_integer("in_channels").value_or(kInfer), a.integer("out_channels"),
                                         in_size ? PerAxis(*in_size) : PerAxis(kInfer), a.per_axis("ksize"), options));
}

}  // namespace

void add_sampling_links(LinkTable& table) {
  table.insert({
      {"DeformableConvolution2D", deformable},
      {"LocalConvolution2D", local},
  });
}

}  // namespace kusari::golden
