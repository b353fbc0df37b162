#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Sign: y = -1, 0 or 1.
/// x: any shape and dtype. Returns y like x, not connected to x: the derivative is 0 everywhere.
/// chainer.functions.sign, which takes floating x alone.
KUSARI_API Variable sign(const Variable& x);

}  // namespace kusari::functions
