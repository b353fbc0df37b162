#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"

namespace kusari::functions {

/// F::softmax_cross_entropy with the classes on the last axis: for the words of several sequences.
/// x: (..., V), floating. t: x's shape without its last axis, integers in [0, V) or options.ignore_label. Returns the
/// mean over all of t that count, (), or with Reduce::no t's shape. Throws TypeError when shapes do not fit, and what
/// softmax_cross_entropy throws.
KUSARI_API Variable token_cross_entropy(const Variable& x, const Variable& t,
                                        const SoftmaxCrossEntropyOptions& options = {});

}  // namespace kusari::functions
