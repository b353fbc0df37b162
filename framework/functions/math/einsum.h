#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Einstein summation: F::einsum("...ij,...jk->...ik", {a, b}) multiplies matrices.
/// subscripts: a letter for each axis of each operand, operands separated by commas, then "->" and the axes of the
/// result; without it the letters that come once, in alphabetical order (capitals first), after the ellipsis. A letter
/// that comes twice in one operand takes its diagonal; one that is not in the result is summed over. "..." stands for
/// the other axes of an operand, which broadcast together and must be in the result. Blanks do not count.
/// operands: floating, as many as there are subscripts. Returns NumPy's promotion of their dtypes. Several operands are
/// multiplied in pairs by matrix products, in the order of least work; each product of half types is summed in float32
/// and rounded. Throws ValueError for subscripts that cannot be understood, TypeError when they do not fit the
/// operands. Differentiable to any order. chainer.functions.einsum.
KUSARI_API Variable einsum(std::string_view subscripts, std::span<const Variable> operands);
KUSARI_API Variable einsum(std::string_view subscripts, std::initializer_list<Variable> operands);

/// The subscript that stands for "..." in a list.
inline constexpr int kEllipsisSubscript = -1;

/// An operand with a number from 0 to 51, or kEllipsisSubscript, for each axis.
struct EinsumOperand {
  Variable x;
  std::vector<int> subscripts;
};

/// The same with numbers instead of letters: F::einsum({{a, {0, 1}}, {b, {1, 2}}}, {{0, 2}}).
/// output: the axes of the result; not given, the numbers that come once, in order.
KUSARI_API Variable einsum(std::span<const EinsumOperand> operands,
                           const std::optional<std::vector<int>>& output = std::nullopt);
KUSARI_API Variable einsum(std::initializer_list<EinsumOperand> operands,
                           const std::optional<std::vector<int>>& output = std::nullopt);

}  // namespace kusari::functions
