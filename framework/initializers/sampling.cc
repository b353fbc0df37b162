#include "kusari/framework/initializers/sampling.h"

#include <cmath>
#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/host_vector.h"

namespace kusari::initializers {

namespace {

/// A pyramid of `size` to the power of `ndim` points, as products of triangles.
std::vector<double> linear_filter(const char* call, int64_t size, int ndim) {
  const double factor = static_cast<double>((size + 1) / 2);
  const double center = size % 2 == 1 ? factor - 1 : factor - 0.5;
  std::vector<double> filter = {1};
  for (int axis = 0; axis < ndim; ++axis) {
    std::vector<double> wider = host_vector<double>({static_cast<int64_t>(filter.size()), size}, call);
    auto place = wider.begin();
    for (const double value : filter) {
      for (int64_t i = 0; i < size; ++i) *place++ = value * (1 - std::abs(static_cast<double>(i) - center) / factor);
    }
    filter = std::move(wider);
  }
  return filter;
}

void fill(const char* call, const Array& array, bool upsampling) {
  const Shape& shape = array.shape();
  bool fits = shape.ndim() >= 3 && (shape[0] == shape[1] || shape[1] == 1);
  for (int axis = 3; fits && axis < shape.ndim(); ++axis) fits = shape[axis] == shape[2];
  if (!fits) {
    throw ValueError(std::string(call) + ": the array has shape " + to_string(shape) +
                     " but must have shape (n, n, k, k) or (n, 1, k, k), with any number of equal sizes k");
  }
  if (array.size() == 0) return;
  std::vector<double> filter = linear_filter(call, shape[2], shape.ndim() - 2);
  if (!upsampling) {
    double sum = 0;
    for (const double value : filter) sum += value;
    for (double& value : filter) value /= sum;
  }
  const Array values = from_host(filter.data(), Shape(shape.begin() + 2, shape.end()), Dtype::float64);
  array.fill(0);
  for (int64_t channel = 0; channel < shape[0]; ++channel) {
    array.at(channel).at(shape[1] == 1 ? 0 : channel).copy_from(values);
  }
}

}  // namespace

void UpsamplingDeconvFilter::operator()(const Array& array) const {
  fill("initializers::UpsamplingDeconvFilter", array, true);
}

void DownsamplingConvFilter::operator()(const Array& array) const {
  fill("initializers::DownsamplingConvFilter", array, false);
}

}  // namespace kusari::initializers
