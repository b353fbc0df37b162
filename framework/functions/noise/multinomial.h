#pragma once

#include <cstdint>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

struct MultinomialOptions {
  bool replacement = false;  ///< whether the same place may come again
};

/// Draws n places of each row, in proportion to its weights. weights: (V) or (B, V), floating, not negative; rows need
/// not sum to 1. Returns (n) or (B, n), int32. Takes numbers off the process's stream. Throws TypeError for other
/// shapes and dtypes, ValueError for a negative n, for weights below 0 or not finite, and for a row with fewer weights
/// above 0 than it takes: n without replacement, otherwise 1. Not differentiable. torch.multinomial.
KUSARI_API Variable multinomial(const Variable& weights, int64_t n, const MultinomialOptions& options = {});

}  // namespace kusari::functions
