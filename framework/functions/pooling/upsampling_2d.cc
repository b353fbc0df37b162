#include "kusari/framework/functions/pooling/upsampling_2d.h"

#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/pooling/windows.h"

namespace kusari::functions {

Variable upsampling_2d(const Variable& x, const Array& indexes, const PerAxis& ksize, const UnpoolingOptions& options) {
  expect_given(x, "F::upsampling_2d", "x");
  expect_given(indexes, "F::upsampling_2d", "indexes");

  const char* const call = "F::upsampling_2d";
  const kernels::Pooling windows = make_windows(call, 2, ksize, options.stride, options.pad);
  const Dims outsize = options.outsize.empty() ? Dims() : PerAxis(options.outsize).resolve(2, call, "outsize");
  const bool is_ready = indexes.dtype() == Dtype::uint8 || indexes.dtype() == Dtype::int32 || indexes.is_floating();
  return scatter_windows(call, x, is_ready ? indexes : indexes.astype(Dtype::int32), windows, outsize,
                         options.cover_all);
}

}  // namespace kusari::functions
