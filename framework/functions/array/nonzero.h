#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Where the elements are that are not 0.
/// x: any shape and dtype. Returns int64 of shape (x.ndim, count): a column for each element, in C order. The host
/// waits for x: its values decide the shape, so a static graph cannot record this. Not differentiable. numpy.nonzero.
KUSARI_API Variable nonzero(const Variable& x);

}  // namespace kusari::functions
