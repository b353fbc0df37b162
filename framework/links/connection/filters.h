#pragma once

#include <cstdint>
#include <string>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/shape.h"
#include "kusari/framework/functions/connection/convolution_nd.h"
#include "kusari/framework/functions/per_axis.h"
#include "kusari/framework/initializers/initializer.h"

// What the links with filters share.
namespace kusari::links {

/// The channels of one group; kInfer while they are not known. Throws ValueError for negative ones, and unless they are
/// a multiple of groups.
int64_t channels_of_group(const char* call, const char* argument, int64_t channels, int64_t groups);
/// Those of all groups. Throws ValueError unless groups is positive and an int64 holds the product.
int64_t channels_of_groups(const char* call, int64_t channels, int64_t groups);
/// (first, second, kernel...).
Shape filter_shape(const char* call, int ndim, int64_t first, int64_t second, const PerAxis& ksize);
/// Throws TypeError unless x is floating and has a batch axis, one of channels and ndim further ones.
void check_images(const char* call, const Variable& x, int ndim);
/// Throws ValueError, in the name of F::`function`, unless kernels of filters with W's shape fit into x.
void check_fit(const char* function, const Variable& x, const Shape& W, const functions::ConvolutionOptions& options);
/// Throws ValueError unless W has that many axes.
KUSARI_API void check_filters(const char* call, const Array& W, int min_ndim, int max_ndim);
/// The initializer of a bias that was given: zeros when it is undefined. Throws ValueError for another shape.
Initializer given_bias(const char* call, const Array& b, int64_t out_channels);
PerAxis kernel_of(const Shape& filters);
/// As Chainer prints them: channels of all groups, None while they are not known, and the kernel's size.
std::string channels_text(int64_t channels, int64_t groups = 1);
std::string kernel_text(const Shape& filters);

}  // namespace kusari::links
