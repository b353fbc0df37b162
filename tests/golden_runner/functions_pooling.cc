#include "kusari/framework/functions/pooling/average_pooling_nd.h"
#include "kusari/framework/functions/pooling/max_pooling_nd.h"
#include "kusari/framework/functions/pooling/roi_average_align_2d.h"
#include "kusari/framework/functions/pooling/roi_average_pooling_2d.h"
#include "kusari/framework/functions/pooling/roi_max_align_2d.h"
#include "kusari/framework/functions/pooling/roi_max_pooling_2d.h"
#include "kusari/framework/functions/pooling/roi_pooling_2d.h"
#include "kusari/framework/functions/pooling/spatial_pyramid_pooling_2d.h"
#include "kusari/framework/functions/pooling/unpooling_nd.h"
#include "kusari/framework/functions/pooling/upsampling_2d.h"
#include "kusari/tests/golden_runner/functions.h"

namespace kusari::golden {
namespace {

template <class Plain, class WithIndices>
Adapter max_pooling(Plain plain, WithIndices with_indices) {
  return [=](Args& a) {
    const Variable x = a.var("x");
    const PerAxis ksize = a.per_axis("ksize");
    const F::MaxPoolingOptions options{
        .stride = a.stride("stride"), .pad = a.per_axis("pad"), .cover_all = a.flag("cover_all")};
    if (!a.flag("return_indices")) return Variables(plain(x, ksize, options));
    const auto [y, index] = with_indices(x, ksize, options);
    return Variables(y, Variable(index, false));
  };
}

template <class Function>
Adapter average_pooling(Function function) {
  return call([function](Args& a) {
    F::AveragePoolingOptions options{.stride = a.stride("stride"), .pad = a.per_axis("pad")};
    // average_pooling_2d has none.
    if (a.signature().find("pad_value") != nullptr) options.pad_value = a.optional_number("pad_value");
    return function(a.var("x"), a.per_axis("ksize"), options);
  });
}

F::UnpoolingOptions unpooling_options(Args& a) {
  return {.stride = a.stride("stride"),
          .pad = a.per_axis("pad"),
          .outsize = a.shape_or_empty("outsize"),
          .cover_all = a.flag("cover_all")};
}

template <class Function>
Adapter unpooling(Function function) {
  return call([function](Args& a) { return function(a.var("x"), a.per_axis("ksize"), unpooling_options(a)); });
}

template <class Function>
Adapter roi(Function function) {
  return call([function](Args& a) {
    return function(a.var("x"), a.var("rois"), a.var("roi_indices"), a.per_axis("outsize"), a.number("spatial_scale"));
  });
}

// None, alone or of one axis, stands for as many samples as the size of the bin asks for: 0 here.
PerAxis sampling_ratio(Args& a) {
  const Json& value = a.raw("sampling_ratio");
  if (value.is_null()) return 0;
  if (!value.is_array()) return a.per_axis("sampling_ratio");
  Shape both;
  for (const Json& one : value) both.push_back(one.is_null() ? 0 : one.get<int64_t>());
  return PerAxis(both);
}

template <class Function>
Adapter roi_align(Function function) {
  return call([function](Args& a) {
    return function(a.var("x"), a.var("rois"), a.var("roi_indices"), a.per_axis("outsize"), a.number("spatial_scale"),
                    sampling_ratio(a));
  });
}

}  // namespace

void add_pooling_functions(FunctionTable& table) {
  table.insert({
      {"average_pooling_1d", average_pooling(F::average_pooling_1d)},
      {"average_pooling_2d", average_pooling(F::average_pooling_2d)},
      {"average_pooling_3d", average_pooling(F::average_pooling_3d)},
      {"average_pooling_nd", average_pooling(F::average_pooling_nd)},
      {"max_pooling_1d", max_pooling(F::max_pooling_1d, F::max_pooling_1d_with_indices)},
      {"max_pooling_2d", max_pooling(F::max_pooling_2d, F::max_pooling_2d_with_indices)},
      {"max_pooling_3d", max_pooling(F::max_pooling_3d, F::max_pooling_3d_with_indices)},
      {"max_pooling_nd", max_pooling(F::max_pooling_nd, F::max_pooling_nd_with_indices)},
      {"roi_average_align_2d", roi_align(F::roi_average_align_2d)},
      {"roi_average_pooling_2d", roi(F::roi_average_pooling_2d)},
      {"roi_max_align_2d", roi_align(F::roi_max_align_2d)},
      {"roi_max_pooling_2d", roi(F::roi_max_pooling_2d)},
      {"roi_pooling_2d", call([](Args& a) {
         return F::roi_pooling_2d(
             a.var("x"), a.var("rois"),
             {.outh = a.integer("outh"), .outw = a.integer("outw"), .spatial_scale = a.number("spatial_scale")});
       })},
      {"spatial_pyramid_pooling_2d", call([](Args& a) {
         return F::spatial_pyramid_pooling_2d(a.var("x"), a.integer("pyramid_height"), a.text("pooling"));
       })},
      {"unpooling_1d", unpooling(F::unpooling_1d)},
      {"unpooling_2d", unpooling(F::unpooling_2d)},
      {"unpooling_3d", unpooling(F::unpooling_3d)},
      {"unpooling_nd", unpooling(F::unpooling_nd)},
      {"upsampling_2d", call([](Args& a) {
         return F::upsampling_2d(a.var("x"), a.array("indexes"), a.per_axis("ksize"), unpooling_options(a));
       })},
  });
}

}  // namespace kusari::golden
