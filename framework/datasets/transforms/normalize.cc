#include "kusari/framework/datasets/transforms/normalize.h"

#include <algorithm>
#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/host_vector.h"
#include "kusari/framework/core/threads.h"

namespace kusari::datasets::transforms {
namespace {

constexpr int64_t kElementsPerThread = 1 << 16;  // below, starting a thread costs more than the work

template <class T>
void normalize_row(const T* from, const float* mean, const float* deviation, float* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = (static_cast<float>(from[i]) - mean[i]) / deviation[i];
}

/// mean(y): the means of the elements of row y.
template <class Mean>
Array normalize(const Array& image, const Mean& mean, const std::vector<float>& deviation) {
  const Array rows = detail::with_pixel_rows(image);
  const int64_t channels = rows.shape()[0], height = rows.shape()[1], pitch = rows.shape()[2] * channels;
  const Array out = empty_image(channels, detail::size_of(rows), Dtype::float32);
  if (out.size() == 0) return out;  // of how many rows ever
  detail::visit_image(rows, [&](auto zero) {
    using T = decltype(zero);
    const int64_t rows_per_thread = std::max<int64_t>(1, kElementsPerThread / std::max<int64_t>(1, pitch));
    parallel_for(height, rows_per_thread, [&](int64_t begin, int64_t end) {
      for (int64_t y = begin; y < end; ++y) {
        normalize_row(rows.data<T>() + y * rows.strides()[1], mean(y), deviation.data(), out.data<float>() + y * pitch,
                      pitch);
      }
    });
  });
  return out;
}

/// One number for each element of a row.
std::vector<float> per_element(const char* argument, const std::vector<double>& values, const Array& image) {
  const auto channels = static_cast<size_t>(image.shape()[0]);
  if (values.size() != 1 && values.size() != channels) {
    throw ValueError(std::string("transforms::Normalize: ") + argument + " has " + std::to_string(values.size()) +
                     " numbers but the image has shape " + to_string(image.shape()) + ": it must have 1 or one for " +
                     "each channel");
  }
  std::vector<float> row = host_vector<float>({image.shape()[2], image.shape()[0]}, "transforms::Normalize");
  for (size_t i = 0; i < row.size(); ++i) {
    row[i] = static_cast<float>(values.size() == 1 ? values[0] : values[i % channels]);
  }
  return row;
}

void check_deviation(const char* call, double deviation) {
  if (deviation == 0) throw ValueError(std::string(call) + ": a deviation is 0, it must not be");
}

}  // namespace

Array Normalize::operator()(const Array& image) const {
  detail::check_image("transforms::Normalize", image);
  for (double value : deviation) check_deviation("transforms::Normalize", value);
  const std::vector<float> means = per_element("mean", mean, image);
  return normalize(
      image, [&](int64_t) { return means.data(); }, per_element("deviation", deviation, image));
}

Array SubtractMean::operator()(const Array& image) const {
  const char* const call = "transforms::SubtractMean";
  detail::check_image(call, image);
  check_deviation(call, deviation);
  if (!mean.is_defined() || mean.dtype() != Dtype::float32 || mean.shape() != image.shape()) {
    throw TypeError(std::string(call) + ": the image has shape " + to_string(image.shape()) + " but mean " +
                    (mean.is_defined()
                         ? std::string("is ") + name(mean.dtype()) + " of shape " + to_string(mean.shape())
                         : std::string("is an undefined array")) +
                    ": it must be float32 of the same shape");
  }
  const Array means = detail::with_pixel_rows(mean);
  const auto row = host_vector<float>({image.shape()[2], image.shape()[0]}, call, static_cast<float>(deviation));
  return normalize(
      image, [&](int64_t y) { return means.data<float>() + y * means.strides()[1]; }, row);
}

}  // namespace kusari::datasets::transforms
