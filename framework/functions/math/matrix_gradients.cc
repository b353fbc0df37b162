#include "kusari/framework/functions/math/matrix_gradients.h"

#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/array/expand_dims.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/solve.h"
#include "kusari/framework/kernels/array_operators.h"

namespace kusari::functions {

Array diagonal_mask(int64_t n, const Device& device) {
  return host_constant([&] {
    const Array i = arange(n, Dtype::int64, device);
    return Array(i.expand_dims(1) == i);
  });
}

Variable over_differences(const Variable& w, const Variable& values) {
  const Variable differences = expand_dims(values, -2) - expand_dims(values, -1);
  const Variable diagonal(diagonal_mask(values.shape(-1), values.device()), false),
      one(ones({}, values.dtype(), values.device()), false);
  return (w - transposed(w)) / where(diagonal, one, differences);
}

Variable solve_in_gradient(const char* call, const Variable& a, const Variable& b) {
  try {
    return solve(a, b);
  } catch (const ValueError& e) {
    const std::string text = e.what();  // "F::solve: a is singular"
    throw ValueError(call + std::string("'s gradient") + text.substr(text.find(": ")));
  }
}

}  // namespace kusari::functions
