#include "kusari/framework/kernels/user/layout.h"

#include <algorithm>

namespace kusari::cuda::user {

void AxisRuns::append(int64_t axis_size, const int64_t* strides) {
  if (axis_size == 1) return;
  bool continues = ndim > 0;
  for (int k = 0; continues && k < arrays; ++k) continues = stride[k][ndim - 1] == strides[k] * axis_size;
  if (!continues) size[ndim++] = 1;
  size[ndim - 1] *= axis_size;
  for (int k = 0; k < arrays; ++k) stride[k][ndim - 1] = strides[k];
}

void AxisRuns::finish() {
  if (ndim > 0) return;
  ndim = 1;
  size[0] = 1;
  for (int k = 0; k < arrays; ++k) stride[k][0] = 0;
}

size_t AxisRuns::flatten(int64_t* to) const {
  int64_t* at = std::copy(size, size + ndim, to);
  for (int k = 0; k < arrays; ++k) at = std::copy(stride[k], stride[k] + ndim, at);
  return static_cast<size_t>(at - to) * sizeof(int64_t);
}

}  // namespace kusari::cuda::user
