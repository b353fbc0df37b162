#pragma once

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/functions/per_axis.h"
#include "kusari/framework/kernels/pooling.h"

// What the pooling functions share: the windows, and the differentiable steps between (N, C, in...) and (N, C, out...)
// of which each is another's gradient. `call` is the function that a user called, "F::max_pooling_2d".
namespace kusari::functions {

/// Throws ValueError when a number is out of range or there are neither one nor ndim of them. No stride: ksize.
kernels::Pooling make_windows(const char* call, int ndim, const PerAxis& ksize, const PerAxis& stride,
                              const PerAxis& pad);

/// A number for each of ndim axes. Throws ValueError when there are neither one nor ndim, or one is below `least` or
/// above what an int32 holds.
Dims window_option(const char* call, const char* option, const PerAxis& values, int ndim, int64_t least);

/// Windows along axis i for `size` places: as many as fit, or one more where cover_all would leave places out.
int64_t window_count(const kernels::Pooling& windows, int i, int64_t size, bool cover_all);

/// The spatial axes of x that are meant where the caller does not say how many.
inline int spatial_ndim(const Variable& x) { return x.ndim() > 2 ? x.ndim() - 2 : 1; }

/// The shape of the result of pooling. Throws ValueError when it would have no elements along an axis.
Shape pooled_shape(const char* call, const kernels::Pooling& windows, const Shape& x, bool cover_all);

/// y = the sum over each window by its divisor. Its gradient is spread_windows.
Variable sum_windows(const char* call, const Variable& x, const kernels::AveragePooling& average, bool cover_all);

/// y = the sum of x by its divisor over the windows that hold a place. `outsize`: the spatial sizes of y; none: the
/// smallest that pooling takes to those of x. Its gradient is sum_windows.
Variable spread_windows(const char* call, const Variable& x, const kernels::AveragePooling& average,
                        const Dims& outsize, bool cover_all);

/// y = zeros, with each element of x added at the place of its window that `index` names: the gradient of max pooling.
/// Its gradient is pick_windows.
Variable scatter_windows(const char* call, const Variable& x, const Array& index, const kernels::Pooling& windows,
                         const Dims& outsize, bool cover_all);

/// y = the element of each window at the place `index`. Its gradient is scatter_windows.
Variable pick_windows(const char* call, const Variable& x, const Array& index, const kernels::Pooling& windows,
                      bool cover_all);

/// For a node's describe().
void describe_windows(const kernels::Pooling& windows, bool cover_all, Attributes& options);

/// The sizes of the spatial axes.
inline Dims spatial_sizes(const Shape& shape) { return Dims(shape.begin() + 2, shape.end()); }

}  // namespace kusari::functions
