#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::autograd {

/// a + b for equal shapes and dtypes: the sum by which backward accumulates, and the core of F::add.
KUSARI_API Variable add(const Variable& a, const Variable& b);

}  // namespace kusari::autograd
