#include "kusari/framework/functions/connection/convolution_nd.h"

#include <algorithm>

#include "kusari/framework/functions/connection/convolution_2d.h"
#include "kusari/framework/functions/connection/convolution_node.h"
#include "kusari/framework/functions/connection/dilated_convolution_2d.h"
#include "kusari/framework/functions/given.h"

namespace kusari::functions {
namespace {

detail::ConvolutionSettings settings_of(const char* name, int ndim, const ConvolutionOptions& options) {
  detail::ConvolutionSettings settings =
      detail::convolution_settings(name, ndim, options.stride, options.pad, options.dilate, options.groups);
  settings.cover_all = options.cover_all;
  settings.relu = options.relu;
  return settings;
}

Variable convolution(const char* name, int ndim, const Variable& x, const Variable& W, const Variable& b,
                     const ConvolutionOptions& options) {
  return detail::convolve(x, W, b, settings_of(name, ndim, options));
}

}  // namespace

Variable convolution_nd(const Variable& x, const Variable& W, const Variable& b, const ConvolutionOptions& options) {
  expect_given(x, "F::convolution_nd", "x");
  return convolution("convolution_nd", std::max(x.ndim() - 2, 1), x, W, b, options);
}

ConvolutionWithSums convolution_nd_with_sums(const Variable& x, const Variable& W, const ConvolutionOptions& options) {
  expect_given(x, "F::convolution_nd_with_sums", "x");
  static constexpr const char* kNames[] = {"convolution_1d", "convolution_2d", "convolution_3d"};
  const int ndim = std::max(x.ndim() - 2, 1);
  ConvolutionWithSums result;
  result.y = detail::convolve(
      x, W, Variable(), settings_of(ndim <= 3 ? kNames[ndim - 1] : "convolution_nd", ndim, options), &result.sums);
  return result;
}

Variable convolution_1d(const Variable& x, const Variable& W, const Variable& b, const ConvolutionOptions& options) {
  return convolution("convolution_1d", 1, x, W, b, options);
}

Variable convolution_2d(const Variable& x, const Variable& W, const Variable& b, const ConvolutionOptions& options) {
  return convolution("convolution_2d", 2, x, W, b, options);
}

Variable convolution_3d(const Variable& x, const Variable& W, const Variable& b, const ConvolutionOptions& options) {
  return convolution("convolution_3d", 3, x, W, b, options);
}

Variable dilated_convolution_2d(const Variable& x, const Variable& W, const Variable& b,
                                const ConvolutionOptions& options) {
  return convolution("dilated_convolution_2d", 2, x, W, b, options);
}

}  // namespace kusari::functions
