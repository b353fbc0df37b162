#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// The largest integer that is not above x.
/// x: any shape, floating. Returns y like x, not connected to x: the derivative is 0 almost everywhere. Throws
/// TypeError if x is not floating. chainer.functions.floor.
KUSARI_API Variable floor(const Variable& x);

/// The smallest integer that is not below x.
/// x: any shape, floating. Returns y like x, not connected to x: the derivative is 0 almost everywhere. Throws
/// TypeError if x is not floating. chainer.functions.ceil.
KUSARI_API Variable ceil(const Variable& x);

/// The nearest integer towards zero.
/// x: any shape, floating. Returns y like x, not connected to x: the derivative is 0 almost everywhere. Throws
/// TypeError if x is not floating. chainer.functions.fix.
KUSARI_API Variable fix(const Variable& x);

/// The nearest integer, of two equally near ones the even one.
/// x: any shape, floating. Returns y like x, not connected to x: the derivative is 0 almost everywhere. Throws
/// TypeError if x is not floating. numpy.rint.
KUSARI_API Variable round(const Variable& x);

}  // namespace kusari::functions
