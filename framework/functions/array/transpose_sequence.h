#pragma once

#include <initializer_list>
#include <span>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Exchanges the first two axes of a list of sequences: row i of result t is element t of xs[i].
/// xs: sequences (length, ...) of one dtype and with equal axes after the first, longest first. Returns as many arrays
/// as the longest is long, result t holding the sequences that are longer than t; none for no sequences. Throws
/// TypeError when the arrays do not go together, ValueError when a sequence is longer than the one before it.
/// Differentiable to any order. chainer.functions.transpose_sequence.
KUSARI_API Variables transpose_sequence(std::span<const Variable> xs);
inline Variables transpose_sequence(std::initializer_list<Variable> xs) {
  return transpose_sequence(std::span<const Variable>(xs.begin(), xs.size()));
}

}  // namespace kusari::functions
