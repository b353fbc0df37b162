#include "kusari/framework/functions/array/as_strided.h"
#include "kusari/framework/functions/array/depth2space.h"
#include "kusari/framework/functions/array/im2col.h"
#include "kusari/framework/functions/array/pad_sequence.h"
#include "kusari/framework/functions/array/resize_images.h"
#include "kusari/framework/functions/array/space2depth.h"
#include "kusari/framework/functions/array/spatial_transformer_grid.h"
#include "kusari/framework/functions/array/spatial_transformer_sampler.h"
#include "kusari/framework/functions/connection/deformable_convolution_2d_sampler.h"
#include "kusari/framework/functions/connection/local_convolution_2d.h"
#include "kusari/tests/golden_runner/functions.h"

namespace kusari::golden {
namespace {

Variable resize_images(Args& a) {
  return F::resize_images(a.var("x"), a.shape("output_shape"),
                          {.mode = a.choice<F::ResizeMode>(
                               "mode", {{"bilinear", F::ResizeMode::bilinear}, {"nearest", F::ResizeMode::nearest}}),
                           .align_corners = a.flag("align_corners")});
}

}  // namespace

void add_sampling_functions(FunctionTable& table) {
  table.insert({
      {"as_strided", call([](Args& a) {
         return F::as_strided(a.var("x"), a.shape("shape"), a.shape("strides"), a.optional_integer("storage_offset"));
       })},
      {"deformable_convolution_2d_sampler", call([](Args& a) {
         return F::deformable_convolution_2d_sampler(a.var("x"), a.var("offset"), a.var("W"), a.var("b"),
                                                     {.stride = a.per_axis("stride"), .pad = a.per_axis("pad")});
       })},
      {"depth2space", call([](Args& a) { return F::depth2space(a.var("X"), a.integer("r")); })},
      {"im2col", call([](Args& a) {
         return F::im2col(a.var("x"), a.per_axis("ksize"),
                          {.stride = a.per_axis("stride"),
                           .pad = a.per_axis("pad"),
                           .cover_all = a.flag("cover_all"),
                           .dilate = a.per_axis("dilate")});
       })},
      {"local_convolution_2d", call([](Args& a) {
         return F::local_convolution_2d(a.var("x"), a.var("W"), a.var("b"), {.stride = a.per_axis("stride")});
       })},
      {"pad_sequence", call([](Args& a) {
         return F::pad_sequence(a.vars("xs"), {.length = a.optional_integer("length"), .padding = a.number("padding")});
       })},
      {"resize_images", call(resize_images)},
      {"space2depth", call([](Args& a) { return F::space2depth(a.var("X"), a.integer("r")); })},
      {"spatial_transformer_grid",
       call([](Args& a) { return F::spatial_transformer_grid(a.var("theta"), a.shape("output_shape")); })},
      {"spatial_transformer_sampler", binary(F::spatial_transformer_sampler, "x", "grid")},
  });
}

}  // namespace kusari::golden
