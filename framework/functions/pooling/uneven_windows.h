#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/functions/per_axis.h"

// For the pooling functions: windows that the kernels do not know.
namespace kusari::functions {

/// What a pooling function is given for its windows.
struct GivenWindows {
  PerAxis ksize, stride, pad, pad_end, dilate;
  bool cover_all;
};

/// Windows side by side, or at least without padding and gaps, over x copied as they need it.
struct PlainWindows {
  Variable x;
  Dims ksize, stride;
};

/// Whether windows have gaps, or another padding behind than before.
bool are_uneven(const GivenWindows& windows);

/// The same windows over a copy of x that holds `padding` around it and, where there are gaps, what each window holds
/// side by side. x: (N, C, in...). Throws TypeError when x has other axes, ValueError when a number is out of range or
/// no window fits.
PlainWindows plain_windows(const char* call, int ndim, const Variable& x, const GivenWindows& windows, Scalar padding);

}  // namespace kusari::functions
