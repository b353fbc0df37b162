#include "kusari/framework/functions/array/gather_elements.h"

#include <span>
#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/array/element_plan.h"
#include "kusari/framework/functions/given.h"

namespace kusari::functions {
namespace {

void expect_indices(const char* call, const Variable& x, const Variable& indices) {
  expect_given(x, call, "x");
  expect_given(indices, call, "indices");
  if (!is_integral(indices.dtype()) || indices.dtype() == Dtype::bool_) {
    throw TypeError(std::string(call) + ": indices has dtype " + name(indices.dtype()) +
                    ": indices.dtype must be an integer dtype");
  }
}

[[noreturn]] void throw_shapes(const char* call, const Variable& x, const Variable& indices, const char* rule) {
  throw TypeError(std::string(call) + ": x has shape " + to_string(x.shape()) + " but indices has shape " +
                  to_string(indices.shape()) + ": " + rule);
}

/// 0, 1, ..., n - 1 along one of `ndim` axes.
Array places_along(int axis, int ndim, int64_t n, const Device& device) {
  Shape shape = Shape::filled(ndim, 1);
  shape[axis] = n;
  return host_constant([&] { return arange(n, Dtype::int64, device).reshape(shape); });
}

}  // namespace

IndexPlan element_plan(const char* call, const Variable& x, const Variable& indices, int64_t axis) {
  expect_indices(call, x, indices);
  const int ndim = x.ndim(), along = normalize_axis(axis, ndim, call);
  if (indices.ndim() != ndim) throw_shapes(call, x, indices, "they must have as many axes");
  std::vector<Index> slices;
  for (int k = 0; k < ndim; ++k) {
    const int64_t size = indices.shape()[k];
    if (k != along && size > x.shape()[k]) {
      throw_shapes(call, x, indices, ("axis " + std::to_string(k) + " of indices must not be longer").c_str());
    }
    slices.emplace_back(k == along ? indices.array() : places_along(k, ndim, size, indices.device()));
  }
  return IndexPlan(call, x.shape(), std::span<const Index>(slices));
}

IndexPlan vector_plan(const char* call, const Variable& x, const Variable& indices, int64_t batch_dims) {
  expect_indices(call, x, indices);
  if (batch_dims < 0 || batch_dims >= indices.ndim() || batch_dims > x.ndim()) {
    throw ValueError(std::string(call) + ": batch_dims is " + std::to_string(batch_dims) + " but x has shape " +
                     to_string(x.shape()) + " and indices has shape " + to_string(indices.shape()) +
                     ": both must have these axes, and indices one more");
  }
  const int last = indices.ndim() - 1;
  const int64_t count = indices.shape()[last];
  Shape shape = indices.shape();
  shape.erase(last);
  std::vector<Index> slices;
  for (int k = 0; k < static_cast<int>(batch_dims); ++k) {
    if (shape[k] != x.shape()[k]) throw_shapes(call, x, indices, "their batch axes must be equal");
    slices.emplace_back(places_along(k, last, shape[k], indices.device()));
  }
  if (count < 1 || count > x.ndim() - batch_dims) {
    throw_shapes(call, x, indices, "the last axis of indices must have one index at least, and at most one per axis");
  }
  for (int64_t k = 0; k < count; ++k) slices.emplace_back(indices.array().slice(last, k, 1).reshape(shape));
  return IndexPlan(call, x.shape(), std::span<const Index>(slices));
}

Variable gather_elements(const Variable& x, const Variable& indices, int64_t axis) {
  return element_plan("F::gather_elements", x, indices, axis).take(x);
}

Variable gather_nd(const Variable& x, const Variable& indices, int64_t batch_dims) {
  return vector_plan("F::gather_nd", x, indices, batch_dims).take(x);
}

}  // namespace kusari::functions
