#include "kusari/framework/functions/pooling/unpooling_nd.h"

#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/pooling/windows.h"

namespace kusari::functions {
namespace {

Variable unpool(const char* call, int ndim, const Variable& x, const PerAxis& ksize, const UnpoolingOptions& options) {
  kernels::AveragePooling spread;
  spread.pooling = make_windows(call, ndim, ksize, options.stride, options.pad);
  spread.divisor = kernels::PoolingDivisor::one;
  const Dims outsize = options.outsize.empty() ? Dims() : PerAxis(options.outsize).resolve(ndim, call, "outsize");
  return spread_windows(call, x, spread, outsize, options.cover_all);
}

}  // namespace

Variable unpooling_nd(const Variable& x, const PerAxis& ksize, const UnpoolingOptions& options) {
  expect_given(x, "F::unpooling_nd", "x");

  return unpool("F::unpooling_nd", spatial_ndim(x), x, ksize, options);
}
Variable unpooling_1d(const Variable& x, const PerAxis& ksize, const UnpoolingOptions& options) {
  return unpool("F::unpooling_1d", 1, x, ksize, options);
}
Variable unpooling_2d(const Variable& x, const PerAxis& ksize, const UnpoolingOptions& options) {
  return unpool("F::unpooling_2d", 2, x, ksize, options);
}
Variable unpooling_3d(const Variable& x, const PerAxis& ksize, const UnpoolingOptions& options) {
  return unpool("F::unpooling_3d", 3, x, ksize, options);
}

}  // namespace kusari::functions
