#include "kusari/framework/functions/connection/convolution_2d.h"
#include "kusari/framework/functions/connection/deconvolution_2d.h"
#include "kusari/framework/functions/connection/depthwise_convolution_2d.h"
#include "kusari/framework/functions/connection/dilated_convolution_2d.h"
#include "kusari/tests/golden_runner/functions.h"

namespace kusari::golden {
namespace {

// dilated_convolution_2d has none.
int64_t groups(Args& a) { return a.signature().find("groups") == nullptr ? 1 : a.integer("groups"); }

using Convolution = Variable (*)(const Variable&, const Variable&, const Variable&, const F::ConvolutionOptions&);
Adapter convolution(Convolution function) {
  return call([function](Args& a) {
    if (a.signature().find("cudnn_fast") != nullptr) a.refuse("cudnn_fast");
    return function(a.var("x"), a.var("W"), a.var("b"),
                    {.stride = a.per_axis("stride"),
                     .pad = a.per_axis("pad"),
                     .cover_all = a.flag("cover_all"),
                     .dilate = a.per_axis("dilate"),
                     .groups = groups(a)});
  });
}

using Deconvolution = Variable (*)(const Variable&, const Variable&, const Variable&, const F::DeconvolutionOptions&);
Adapter deconvolution(Deconvolution function) {
  return call([function](Args& a) {
    return function(a.var("x"), a.var("W"), a.var("b"),
                    {.stride = a.per_axis("stride"),
                     .pad = a.per_axis("pad"),
                     .outsize = a.shape_or_empty("outsize"),
                     .dilate = a.per_axis("dilate"),
                     .groups = a.integer("groups")});
  });
}

}  // namespace

void add_convolution_functions(FunctionTable& table) {
  table.insert({
      {"convolution_1d", convolution(F::convolution_1d)},
      {"convolution_2d", convolution(F::convolution_2d)},
      {"convolution_3d", convolution(F::convolution_3d)},
      {"convolution_nd", convolution(F::convolution_nd)},
      {"deconvolution_1d", deconvolution(F::deconvolution_1d)},
      {"deconvolution_2d", deconvolution(F::deconvolution_2d)},
      {"deconvolution_3d", deconvolution(F::deconvolution_3d)},
      {"deconvolution_nd", deconvolution(F::deconvolution_nd)},
      {"depthwise_convolution_2d", call([](Args& a) {
         return F::depthwise_convolution_2d(a.var("x"), a.var("W"), a.var("b"),
                                            {.stride = a.per_axis("stride"), .pad = a.per_axis("pad")});
       })},
      {"dilated_convolution_2d", convolution(F::dilated_convolution_2d)},
  });
}

}  // namespace kusari::golden
