#include "kusari/framework/functions/pooling/average_pooling_nd.h"

#include <sstream>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/pooling/uneven_windows.h"
#include "kusari/framework/functions/pooling/windows.h"

namespace kusari::functions {
namespace {

Variable pool_uneven(const char* call, int ndim, const Variable& x, const GivenWindows& given, bool counts_padding) {
  const PlainWindows plain = plain_windows(call, ndim, x, given, 0);
  kernels::AveragePooling average;
  average.pooling = make_windows(call, ndim, PerAxis(plain.ksize), PerAxis(plain.stride), 0);
  if (counts_padding) return sum_windows(call, plain.x, average, false);
  average.divisor = kernels::PoolingDivisor::one;
  Shape one_image = x.shape();
  one_image[0] = one_image[1] = 1;
  const Array inside = host_constant([&] { return ones(one_image, x.dtype(), x.device()); });
  const Variable counts = plain_windows(call, ndim, Variable(inside, false), given, 0).x;
  return sum_windows(call, plain.x, average, false) / sum_windows(call, counts, average, false);
}

Variable pool(const char* call, int ndim, const Variable& x, const PerAxis& ksize,
              const AveragePoolingOptions& options) {
  if (options.pad_value.value_or(0.0) != 0.0) {
    std::ostringstream message;
    message << call << ": pad_value is " << *options.pad_value << ": it must be 0 or absent";
    throw ValueError(message.str());
  }
  const GivenWindows given{ksize, options.stride, options.pad, options.pad_end, options.dilate, false};
  if (are_uneven(given)) return pool_uneven(call, ndim, x, given, options.pad_value.has_value());
  kernels::AveragePooling average;
  average.pooling = make_windows(call, ndim, ksize, options.stride, options.pad);
  average.divisor = options.pad_value ? kernels::PoolingDivisor::window : kernels::PoolingDivisor::inside;
  return sum_windows(call, x, average, false);
}

}  // namespace

Variable average_pooling_nd(const Variable& x, const PerAxis& ksize, const AveragePoolingOptions& options) {
  expect_given(x, "F::average_pooling_nd", "x");

  return pool("F::average_pooling_nd", spatial_ndim(x), x, ksize, options);
}
Variable average_pooling_1d(const Variable& x, const PerAxis& ksize, const AveragePoolingOptions& options) {
  return pool("F::average_pooling_1d", 1, x, ksize, options);
}
Variable average_pooling_2d(const Variable& x, const PerAxis& ksize, const AveragePoolingOptions& options) {
  return pool("F::average_pooling_2d", 2, x, ksize, options);
}
Variable average_pooling_3d(const Variable& x, const PerAxis& ksize, const AveragePoolingOptions& options) {
  return pool("F::average_pooling_3d", 3, x, ksize, options);
}

Variable global_average_pooling_2d(const Variable& x) {
  expect_given(x, "F::global_average_pooling_2d", "x");

  const PerAxis plane = x.ndim() == 4 ? PerAxis(spatial_sizes(x.shape())) : PerAxis(1);
  const Variable y = pool("F::global_average_pooling_2d", 2, x, plane, {});
  return reshape(y, {y.shape()[0], y.shape()[1]});
}

}  // namespace kusari::functions
