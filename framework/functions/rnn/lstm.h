#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// What a cell with two states gives: `auto [c, h] = F::lstm(c, x);`.
struct CellOutput {
  Variable c;  ///< the cells
  Variable h;  ///< what the layer above sees
};

/// One step of long short-term memory: c = tanh(a) sigmoid(i) + sigmoid(f) c_prev, h = sigmoid(o) tanh(c).
/// c_prev: (B, H, ...), floating. x: (B', 4 H, ...) of its dtype, B' <= B: what the gates see, a, i, f, o of one unit
/// after each other. Returns c: (B, H, ...), whose rows from B' on are those of c_prev, and h: (B', H, ...). Throws
/// TypeError when dtypes or shapes do not fit. Differentiable to any order. Gers et al. 2000; chainer.functions.lstm.
KUSARI_API CellOutput lstm(const Variable& c_prev, const Variable& x);

}  // namespace kusari::functions
