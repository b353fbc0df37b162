#include "kusari/framework/functions/array/spatial_transformer_grid.h"

#include <algorithm>
#include <vector>

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/host_vector.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/input_check.h"
#include "kusari/framework/functions/math/matmul.h"

namespace kusari::functions {
namespace {

void check(const Variable& theta, const Dims& output_shape) {
  const InputCheck c("spatial_transformer_grid", {&theta});
  const auto [matrices] = c.args("theta");
  c.expect(matrices.is_floating(), matrices.ndim() == 3, matrices.shape(1) == 2, matrices.shape(2) == 3);
  if (output_shape.ndim() != 2 || std::min(output_shape[0], output_shape[1]) < 1) {
    throw ValueError("F::spatial_transformer_grid: output_shape is " + to_string(output_shape) +
                     ": it must be a positive height and a positive width");
  }
}

// Place i of n from -1 to 1; the only one of a single place is -1.
double place(int64_t i, int64_t n) {
  return n == 1 ? -1.0 : -1.0 + 2.0 * static_cast<double>(i) / static_cast<double>(n - 1);
}

// (x_j, y_i, 1) as columns: (3, h w).
Array coordinates(int64_t h, int64_t w, Dtype dtype, const Device& device) {
  std::vector<double> values = host_vector<double>({3, h, w}, "F::spatial_transformer_grid", 1.0);
  auto value = values.begin();
  for (int64_t i = 0; i < h * w; ++i) *value++ = place(i % w, w);
  for (int64_t i = 0; i < h * w; ++i) *value++ = place(i / w, h);
  return array(values, {3, h * w}, device).astype(dtype);
}

}  // namespace

Variable spatial_transformer_grid(const Variable& theta, const Dims& output_shape) {
  if (const CompositeInputs in("spatial_transformer_grid", {theta}); in.is_cast())
    return spatial_transformer_grid(in[0], output_shape);
  check(theta, output_shape);
  const int64_t n = theta.shape()[0], h = output_shape[0], w = output_shape[1];
  const Variable columns(host_constant([&] { return coordinates(h, w, theta.dtype(), theta.device()); }), false);
  return reshape(matmul(reshape(theta, {2 * n, 3}), columns), {n, 2, h, w});
}

}  // namespace kusari::functions
