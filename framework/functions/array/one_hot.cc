#include "kusari/framework/functions/array/one_hot.h"

#include <string>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/kernels/array_math.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari::functions {

Variable one_hot(const Variable& indices, int64_t depth, const OneHotOptions& options) {
  const char* const call = "F::one_hot";
  expect_given(indices, call, "indices");
  argument::positive(call, "depth", depth);
  if (!is_integral(indices.dtype()) || indices.dtype() == Dtype::bool_) {
    throw TypeError(std::string(call) + ": indices has dtype " + name(indices.dtype()) +
                    ": indices.dtype must be an integer dtype");
  }
  if (indices.ndim() == kMaxNdim) {
    throw TypeError(std::string(call) + ": indices has shape " + to_string(indices.shape()) +
                    ": there is no room for an axis more");
  }
  const int axis = normalize_axis(options.axis, indices.ndim() + 1, call);
  Shape along = Shape::filled(indices.ndim() + 1, 1);
  along[axis] = depth;

  const Device device = indices.device();
  const Array places = host_constant([&] { return arange(depth, Dtype::int64, device).reshape(along); });
  const Array given = indices.array().astype(Dtype::int64).expand_dims(axis);
  const Array is_on = places == xp::where(given < 0, given + depth, given);
  const auto value = [&](Scalar number) {
    return host_constant([&] { return full({}, number, options.dtype, device); });
  };
  return Variable(
      pointwise_as(options.dtype, kernels::Where{}, is_on, value(options.on_value), value(options.off_value)), false);
}

}  // namespace kusari::functions
