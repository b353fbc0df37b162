#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::autograd {

/// x converted to `dtype`; x itself when it has that dtype. The core of F::cast.
KUSARI_API Variable cast(const Variable& x, Dtype dtype);

}  // namespace kusari::autograd
