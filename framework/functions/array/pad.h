#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/small_vector.h"

namespace kusari {

/// How many elements are added before and after the axes of an array: 2, {1, 2} (before, after) or, one pair per axis,
/// {{1, 2}, {0, 0}}. Negative ones are taken away.
class KUSARI_API PadWidth {
 public:
  using Pair = std::pair<int64_t, int64_t>;  ///< before, after

  PadWidth(int64_t width) : PadWidth(width, width) {}
  PadWidth(int64_t before, int64_t after);
  PadWidth(std::initializer_list<Pair> pairs);
  explicit PadWidth(std::span<const Pair> pairs);

  /// The pair of an axis. Throws ValueError naming `call` when there are neither one nor ndim pairs.
  Pair at(int axis, int ndim, const char* call) const;

 private:
  SmallVector<Pair, 4> pairs_;
};

}  // namespace kusari

namespace kusari::functions {

/// What the elements that pad adds are: a constant, the nearest element (edge), the elements mirrored at the edge
/// without it (reflect) or with it (symmetric), or those from the other end (wrap). NumPy's modes.
enum class PadMode : uint8_t { constant, edge, reflect, symmetric, wrap };

/// x with elements added at both ends of its axes, or, where the width is negative, taken away before any are added.
/// x: any shape and dtype. pad_width: how many. mode: which. constant_values: the constant. Throws ValueError for
/// widths that do not fit x's number of axes or take away more than there is, and for an axis without elements unless
/// the mode is constant. Differentiable to any order in every mode. chainer.functions.pad, which refuses negative
/// widths.
KUSARI_API Variable pad(const Variable& x, const PadWidth& pad_width, PadMode mode = PadMode::constant,
                        Scalar constant_values = 0);

}  // namespace kusari::functions
