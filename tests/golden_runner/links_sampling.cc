#include "kusari/framework/links/connection/deformable_convolution_2d.h"
#include "kusari/framework/links/connection/local_convolution_2d.h"
#include "kusari/tests/golden_runner/links.h"

namespace kusari::golden {

void add_sampling_links(LinkTable& table) {
  table.insert({
      {"DeformableConvolution2D",
       [](Args& a) {
         return link_of_x(L::DeformableConvolution2D(a.integer("in_channels", kInfer), a.integer("out_channels", 0),
                                                     a.per_axis("ksize", 0),
                                                     {.stride = a.per_axis("stride", 1),
                                                      .pad = a.per_axis("pad", 0),
                                                      .offset_nobias = a.flag("offset_nobias", false),
                                                      .deform_nobias = a.flag("deform_nobias", false)}));
       }},
      {"LocalConvolution2D",
       [](Args& a) {
         return link_of_x(L::LocalConvolution2D(
             a.integer("in_channels", kInfer), a.integer("out_channels", 0), a.per_axis("in_size", kInfer),
             a.per_axis("ksize", 0), {.stride = a.per_axis("stride", 1), .nobias = a.flag("nobias", false)}));
       }},
  });
}

}  // namespace kusari::golden
