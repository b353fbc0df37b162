#pragma once

#include <initializer_list>
#include <span>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/rnn/lstm.h"

namespace kusari::functions {

/// One node of a tree of long short-term memories with n children: c = tanh(a) sigmoid(i) + sum sigmoid(f_k) c_k,
/// h = sigmoid(o) tanh(c).
/// cs: the cells of the n >= 1 children, each (B, H, ...), floating. x: (B, (3 + n) H, ...) of their dtype: a, i, o,
/// f_1, ..., f_n as blocks of H. Returns c and h: (B, H, ...). Throws ValueError without children, TypeError when
/// dtypes or shapes do not fit. Differentiable to any order. Tai et al. 2015; chainer.functions.tree_lstm(c_1, ...,
/// c_n, x).
KUSARI_API CellOutput tree_lstm(std::span<const Variable> cs, const Variable& x);
inline CellOutput tree_lstm(std::initializer_list<Variable> cs, const Variable& x) {
  return tree_lstm(std::span<const Variable>(cs.begin(), cs.size()), x);
}

}  // namespace kusari::functions
