#include "kusari/framework/links/connection/filters.h"

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/connection/convolution_node.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/sizes.h"

namespace kusari::links {

int64_t channels_of_group(const char* call, const char* argument, int64_t channels, int64_t groups) {
  argument::positive(call, "groups", groups);
  size_or_infer(call, argument, channels);
  if (channels != kInfer && channels % groups != 0) {
    throw ValueError(std::string(call) + ": " + argument + " is " + std::to_string(channels) + " but groups is " +
                     std::to_string(groups) + ": it must be a multiple of groups");
  }
  return channels == kInfer ? kInfer : channels / groups;
}

int64_t channels_of_groups(const char* call, int64_t channels, int64_t groups) {
  return size_times(call, "groups", argument::positive(call, "groups", groups), channels);
}

Shape filter_shape(const char* call, int ndim, int64_t first, int64_t second, const PerAxis& ksize) {
  if (ndim < 1 || ndim > kMaxNdim - 2) {
    throw ValueError(std::string(call) + ": ndim is " + std::to_string(ndim) + ": it must be 1 .. " +
                     std::to_string(kMaxNdim - 2));
  }
  Shape shape = {first, second};
  for (const int64_t size : ksize.resolve(ndim, call, "ksize")) {
    if (size < 1) {
      throw ValueError(std::string(call) + ": ksize is " + to_string(ksize.given()) + ": each must be at least 1");
    }
    shape.push_back(size);
  }
  return shape;
}

void check_images(const char* call, const Variable& x, int ndim) {
  functions::expect_floating(x, call, "x");
  if (x.ndim() != ndim + 2) {
    throw TypeError(std::string(call) + ": x has shape " + to_string(x.shape()) + ": x.ndim must be " +
                    std::to_string(ndim + 2));
  }
}

void check_fit(const char* function, const Variable& x, const Shape& W, const functions::ConvolutionOptions& options) {
  functions::detail::ConvolutionSettings settings = functions::detail::convolution_settings(
      function, W.ndim() - 2, options.stride, options.pad, options.dilate, options.groups);
  settings.cover_all = options.cover_all;
  functions::detail::convolved_size(settings, x.shape(), W);
}

void check_filters(const char* call, const Array& W, int min_ndim, int max_ndim) {
  if (W.is_defined() && W.ndim() >= min_ndim && W.ndim() <= max_ndim) return;
  const std::string expected =
      min_ndim == max_ndim ? std::to_string(min_ndim) : std::to_string(min_ndim) + " to " + std::to_string(max_ndim);
  throw ValueError(std::string(call) + ": W has " +
                   (W.is_defined() ? "shape " + to_string(W.shape()) : std::string("no numbers")) + " but must have " +
                   expected + " axes");
}

Initializer given_bias(const char* call, const Array& b, int64_t out_channels) {
  if (!b.is_defined()) return 0;
  if (b.shape() == Shape{out_channels}) return b;
  throw ValueError(std::string(call) + ": b has shape " + to_string(b.shape()) + " but W has " +
                   std::to_string(out_channels) + " outputs: b.shape must be " + to_string(Shape{out_channels}));
}

PerAxis kernel_of(const Shape& filters) { return PerAxis(Dims(filters.begin() + 2, filters.end())); }

std::string channels_text(int64_t channels, int64_t groups) {
  return channels == kInfer ? "None" : std::to_string(channels * groups);
}

std::string kernel_text(const Shape& filters) {
  bool is_uniform = true;
  for (int axis = 3; axis < filters.ndim(); ++axis) is_uniform = is_uniform && filters[axis] == filters[2];
  return is_uniform ? std::to_string(filters[2]) : to_string(Dims(filters.begin() + 2, filters.end()));
}

}  // namespace kusari::links
