#pragma once

#include <cstdint>
#include <optional>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

struct UniqueOptions {
  std::optional<int64_t> axis = std::nullopt;  ///< whose parts are compared; none: the elements of x, flattened
  bool sorted = true;                          ///< from the smallest; false: in the order in which they first come
};

/// What F::unique gives. The indices are int64 of one axis, not connected to x.
struct UniqueResult {
  Variable values;   ///< each part of x once, in x's dtype; differentiable to any order by x
  Variable indices;  ///< of each value: where x has it first
  Variable inverse;  ///< of each part of x: which value it is
  Variable counts;   ///< of each value: how often x has it
};

/// The different elements of x, or its different parts along an axis.
/// x: any shape and dtype, NaN being one value, larger than all numbers. Parts are ordered by their first elements that
/// differ. The host waits for x: its values decide the shapes, so a static graph cannot record this. Throws IndexError
/// for an axis that x does not have. numpy.unique.
KUSARI_API UniqueResult unique(const Variable& x, const UniqueOptions& options = {});

}  // namespace kusari::functions
