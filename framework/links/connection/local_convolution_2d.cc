#include "kusari/framework/links/connection/local_convolution_2d.h"

#include <algorithm>
#include <string>
#include <utility>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/connection/local_convolution_2d.h"
#include "kusari/framework/links/connection/filters.h"
#include "kusari/framework/links/first_call.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes.h"
#include "kusari/framework/links/sizes_on_trial.h"

namespace kusari::links {
namespace {

constexpr const char* kLocalConvolution2D = "L::LocalConvolution2D";

Dims positive(const PerAxis& option, const char* argument) {
  const Dims values = option.resolve(2, kLocalConvolution2D, argument);
  if (std::min(values[0], values[1]) < 1) {
    throw ValueError(std::string(kLocalConvolution2D) + ": " + argument + " is " + to_string(values) +
                     ": it must be at least 1");
  }
  return values;
}

// Places along an axis, kInfer while its size is unknown.
int64_t places(int64_t size, int64_t ksize, int64_t stride) {
  if (size == kInfer) return kInfer;
  if (size < ksize) {
    throw ValueError(std::string(kLocalConvolution2D) + ": in_size is " + std::to_string(size) +
                     ": it must be at least ksize (" + std::to_string(ksize) + ")");
  }
  return (size - ksize) / stride + 1;
}

Shape bias_shape(int64_t out_channels, const PerAxis& in_size, const PerAxis& ksize, const PerAxis& stride) {
  const Dims size = in_size.resolve(2, kLocalConvolution2D, "in_size"), k = positive(ksize, "ksize"),
             s = positive(stride, "stride");
  return {argument::not_negative(kLocalConvolution2D, "out_channels", out_channels), places(size[0], k[0], s[0]),
          places(size[1], k[1], s[1])};
}

Shape weight_shape(int64_t in_channels, int64_t out_channels, const PerAxis& in_size, const PerAxis& ksize,
                   const PerAxis& stride) {
  const Shape bias = bias_shape(out_channels, in_size, ksize, stride);
  const Dims k = positive(ksize, "ksize");
  return {bias[0], bias[1], bias[2], size_or_infer(kLocalConvolution2D, "in_channels", in_channels), k[0], k[1]};
}

}  // namespace

LocalConvolution2D::LocalConvolution2D(int64_t in_channels, int64_t out_channels, const PerAxis& in_size,
                                       const PerAxis& ksize, Options options)
    : W{*this, "W", weight_shape(in_channels, out_channels, in_size, ksize, options.stride),
        std::move(options.initial_w)},
      b{*this, "b", bias_shape(out_channels, in_size, ksize, options.stride), std::move(options.initial_bias),
        !options.nobias},
      ksize_{positive(ksize, "ksize")},
      stride_{positive(options.stride, "stride")} {}

Variable LocalConvolution2D::operator()(const Variable& x) const {
  const kusari::detail::SizesOnTrial sizes(W);
  if (!W.is_initialized()) {
    const kusari::detail::FirstCall alone;
    check_images(kLocalConvolution2D, x, 2);
    const Shape &shape = x.shape(), &declared = W.declared_shape();
    Shape weights = declared;
    for (int axis = 0; axis < 2; ++axis) weights[1 + axis] = places(shape[2 + axis], ksize_[axis], stride_[axis]);
    weights[3] = shape[1];
    for (const int axis : {1, 2, 3}) {
      if (declared[axis] < 0 || declared[axis] == weights[axis]) continue;
      throw TypeError(std::string(kLocalConvolution2D) + ": x has shape " + to_string(shape) +
                      ": it needs W of shape " + to_string(weights) + " but that is " + to_string(declared));
    }
    for (const int axis : {1, 2}) b.infer(axis, weights[axis]);
    for (const int axis : {1, 2, 3}) W.infer(axis, weights[axis]);  // after b: other threads take it for both
  }
  const LinkCall call(*this);
  return functions::local_convolution_2d(x, W, b, {.stride = PerAxis(stride_)});
}

}  // namespace kusari::links
