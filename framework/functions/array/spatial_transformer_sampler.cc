#include "kusari/framework/functions/array/spatial_transformer_sampler.h"

#include "kusari/framework/autograd/cast.h"
#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/array/sample_bilinear.h"
#include "kusari/framework/functions/input_check.h"
#include "kusari/framework/functions/math/basic_math.h"

namespace kusari::functions {
namespace {

void check(const Variable& x, const Variable& grid) {
  const InputCheck c("spatial_transformer_sampler", {&x, &grid});
  const auto [image, points] = c.args("x", "grid");
  c.expect(image.is_floating(), points.dtype() == image.dtype(), image.ndim() == 4, points.ndim() == 4,
           points.shape(1) == 2, image.shape(0) == points.shape(0));
}

}  // namespace

Variable spatial_transformer_sampler(const Variable& x, const Variable& grid) {
  if (const CompositeInputs in("spatial_transformer_sampler", {x, grid}); in.is_cast())
    return spatial_transformer_sampler(in[0], in[1]);
  check(x, grid);
  const double half_width = static_cast<double>(x.shape()[3] - 1) / 2;
  const double half_height = static_cast<double>(x.shape()[2] - 1) / 2;
  const Array scale = host_constant([&] { return array<double>({half_width, half_height}, {1, 2, 1, 1}, x.device()); });
  const Variable wide = autograd::cast(grid, x.dtype() == Dtype::float64 ? Dtype::float64 : Dtype::float32);
  return sample_bilinear(x, (wide + 1) * scale);
}

}  // namespace kusari::functions
