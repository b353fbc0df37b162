#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/rnn/lstm.h"

namespace kusari::functions {

/// One step of S-LSTM, which joins two memories: c = tanh(a1 + a2) sigmoid(i1 + i2) + sigmoid(f1) c_prev1 +
/// sigmoid(f2) c_prev2, h = sigmoid(o1 + o2) tanh(c).
/// c_prev1, c_prev2: (B, H, ...), floating. x1, x2: (B, 4 H, ...) of their dtype, a, i, f, o of one unit after each
/// other. Returns c and h: (B, H, ...). Throws TypeError when dtypes or shapes do not fit. Differentiable to any order.
/// Zhu et al. 2015; chainer.functions.slstm.
KUSARI_API CellOutput slstm(const Variable& c_prev1, const Variable& c_prev2, const Variable& x1, const Variable& x2);

}  // namespace kusari::functions
