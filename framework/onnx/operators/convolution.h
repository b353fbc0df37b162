#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/onnx/operators/windows.h"

namespace kusari::onnx {

/// The sizes behind batch and channels. Throws TypeError when there are none.
Dims spatial(const Shape& shape);
/// ONNX's Conv.
Variable convolve(const Variable& x, const Variable& w, const Variable& b, const WindowAttributes& attributes,
                  int64_t groups);

}  // namespace kusari::onnx
