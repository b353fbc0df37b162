#include "kusari/framework/functions/pooling/spatial_pyramid_pooling_2d.h"

#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/pooling/max_pooling_nd.h"

namespace kusari::functions {

Variable spatial_pyramid_pooling_2d(const Variable& x, int64_t pyramid_height, const std::string& pooling) {
  const std::string call = "F::spatial_pyramid_pooling_2d: ";
  if (pooling != "max") throw ValueError(call + "pooling is \"" + pooling + "\": it must be \"max\"");
  if (pyramid_height < 1 || pyramid_height > 31) {
    throw ValueError(call + "pyramid_height is " + std::to_string(pyramid_height) + ": it must be between 1 and 31");
  }
  expect_given(x, "F::spatial_pyramid_pooling_2d", "x");
  if (x.ndim() == 4 && (x.shape()[2] == 0 || x.shape()[3] == 0)) {
    throw TypeError(call + "x has shape " + to_string(x.shape()) + ": its images must have pixels");
  }
  if (x.ndim() != 4) {
    throw TypeError(call + "x has shape " + to_string(x.shape()) + ": x.ndim must equal 4 (" +
                    std::to_string(x.ndim()) + " != 4)");
  }
  std::vector<Variable> levels;
  for (int64_t level = 0; level < pyramid_height; ++level) {
    const int64_t bins = int64_t{1} << level;
    Dims ksize, pad;
    for (int axis = 2; axis < 4; ++axis) {
      const int64_t size = x.shape()[axis], window = (size + bins - 1) / bins;
      ksize.push_back(window);
      pad.push_back((window * bins - size) / 2);
    }
    const Variable y = max_pooling_2d(x, PerAxis(ksize), {.pad = PerAxis(pad)});
    const Shape& shape = y.shape();
    levels.push_back(reshape(y, {shape[0], shape[1] * shape[2] * shape[3], 1, 1}));
  }
  return concat(levels, 1);
}

}  // namespace kusari::functions
