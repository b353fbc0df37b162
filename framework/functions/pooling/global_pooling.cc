#include "kusari/framework/functions/pooling/global_pooling.h"

#include <algorithm>
#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/pooling/average_pooling_nd.h"
#include "kusari/framework/functions/pooling/max_pooling_nd.h"
#include "kusari/framework/functions/pooling/windows.h"

namespace kusari::functions {
namespace {

/// All of each image.
PerAxis whole_window(const char* call, const Variable& x) {
  expect_floating(x, call, "x");
  const bool has_places =
      x.ndim() >= 3 && std::all_of(x.shape().begin() + 2, x.shape().end(), [](int64_t n) { return n > 0; });
  if (!has_places) {
    throw TypeError(std::string(call) + ": x has shape " + to_string(x.shape()) +
                    ": it must be (N, C, in...), with one or more spatial axes, none of them empty");
  }
  return PerAxis(spatial_sizes(x.shape()));
}

}  // namespace

Variable global_max_pooling_nd(const Variable& x) {
  return max_pooling_nd(x, whole_window("F::global_max_pooling_nd", x));
}

Variable global_average_pooling_nd(const Variable& x) {
  return average_pooling_nd(x, whole_window("F::global_average_pooling_nd", x));
}

}  // namespace kusari::functions
