#pragma once

#include <initializer_list>
#include <optional>
#include <span>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

struct PadSequenceOptions {
  std::optional<int64_t> length = {};  ///< of the result; default: the longest sequence's
  double padding = 0;                  ///< what stands behind a shorter sequence
};

/// Sequences of different lengths as one array: y[i, t] = xs[i][t], padding for t >= xs[i].shape[0].
/// xs: at least one, (length_i, ...) of one dtype and equal shapes but for the first axis. Returns y: (len(xs), length,
/// ...). Throws ValueError without arguments, TypeError when dtypes or shapes differ, a sequence has no axis, or one is
/// longer than the given length. Differentiable to any order. chainer.functions.pad_sequence.
KUSARI_API Variable pad_sequence(std::span<const Variable> xs, const PadSequenceOptions& options = {});
inline Variable pad_sequence(std::initializer_list<Variable> xs, const PadSequenceOptions& options = {}) {
  return pad_sequence(std::span<const Variable>(xs.begin(), xs.size()), options);
}

}  // namespace kusari::functions
