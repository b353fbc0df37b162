#include "kusari/framework/functions/connection/deconvolution_nd.h"

#include <algorithm>
#include <string>

#include "kusari/framework/functions/connection/convolution_node.h"
#include "kusari/framework/functions/connection/deconvolution_2d.h"
#include "kusari/framework/functions/given.h"

namespace kusari::functions {
namespace {

Variable deconvolution(const char* name, int ndim, const Variable& x, const Variable& W, const Variable& b,
                       const DeconvolutionOptions& options) {
  detail::ConvolutionSettings settings =
      detail::convolution_settings(name, ndim, options.stride, options.pad, options.dilate, options.groups);
  if (!options.outsize.empty()) {
    settings.outsize = PerAxis(options.outsize).resolve(ndim, (std::string("F::") + name).c_str(), "outsize");
  }
  return detail::convolve_transposed(x, W, b, settings);
}

}  // namespace

Variable deconvolution_nd(const Variable& x, const Variable& W, const Variable& b,
                          const DeconvolutionOptions& options) {
  expect_given(x, "F::deconvolution_nd", "x");
  return deconvolution("deconvolution_nd", std::max(x.ndim() - 2, 1), x, W, b, options);
}

Variable deconvolution_1d(const Variable& x, const Variable& W, const Variable& b,
                          const DeconvolutionOptions& options) {
  return deconvolution("deconvolution_1d", 1, x, W, b, options);
}

Variable deconvolution_2d(const Variable& x, const Variable& W, const Variable& b,
                          const DeconvolutionOptions& options) {
  return deconvolution("deconvolution_2d", 2, x, W, b, options);
}

Variable deconvolution_3d(const Variable& x, const Variable& W, const Variable& b,
                          const DeconvolutionOptions& options) {
  return deconvolution("deconvolution_3d", 3, x, W, b, options);
}

}  // namespace kusari::functions
