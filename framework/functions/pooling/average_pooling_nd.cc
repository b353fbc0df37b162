#include "kusari/framework/functions/pooling/average_pooling_nd.h"

#include <span>
#include <sstream>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/pad.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/pooling/uneven_windows.h"
#include "kusari/framework/functions/pooling/windows.h"

namespace kusari::functions {
namespace {

/// Which places the mean counts: 1 for them, 0 for the others; of one image.
Variable counted_places(const Variable& x, const GivenWindows& given, int ndim, bool counts_padding) {
  Shape image = x.shape();
  image[0] = image[1] = 1;
  const Dtype wide = is_half(x.dtype()) ? Dtype::float32 : x.dtype();
  const Array inside = host_constant([&] { return ones(image, wide, x.device()); });
  if (!counts_padding) return Variable(inside, false);
  const Dims before = given.pad.resolve(ndim, "", "pad"), behind = given.pad_end.resolve(ndim, "", "pad_end");
  std::vector<PadWidth::Pair> widths(2, PadWidth::Pair{0, 0});
  for (int i = 0; i < ndim; ++i) widths.push_back({before[i], behind[i]});
  return pad(Variable(inside, false), PadWidth(std::span<const PadWidth::Pair>(widths)), PadMode::constant, 1);
}

Variable pool_uneven(const char* call, int ndim, const Variable& x, GivenWindows given, bool counts_padding) {
  if (given.pad_end.given().empty()) given.pad_end = given.pad;
  const PlainWindows plain = plain_windows(call, ndim, x, given, 0);
  kernels::AveragePooling average;
  average.pooling = make_windows(call, ndim, PerAxis(plain.ksize), PerAxis(plain.stride), 0);
  // All windows end within the padding, and are full.
  if (counts_padding && !given.cover_all) return sum_windows(call, plain.x, average, false);

  average.divisor = kernels::PoolingDivisor::one;
  const Variable counted = counted_places(x, given, ndim, counts_padding);
  if (counts_padding) given.pad = given.pad_end = 0;
  const Variable counts = plain_windows(call, ndim, counted, given, 0).x;
  const Variable sums = sum_windows(call, cast(plain.x, counts.dtype()), average, false);
  return cast(sums / sum_windows(call, counts, average, false), x.dtype());
}

Variable pool(const char* call, int ndim, const Variable& x, const PerAxis& ksize,
              const AveragePoolingOptions& options) {
  if (options.pad_value.value_or(0.0) != 0.0) {
    std::ostringstream message;
    message << call << ": pad_value is " << *options.pad_value << ": it must be 0 or absent";
    throw ValueError(message.str());
  }
  const GivenWindows given{ksize, options.stride, options.pad, options.pad_end, options.dilate, options.cover_all};
  if (are_uneven(given) || options.cover_all) return pool_uneven(call, ndim, x, given, options.pad_value.has_value());
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
