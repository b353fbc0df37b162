#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Rotation of a model that went on from shorter texts: pairs that turn slowly turn even more slowly.
struct RotaryScaling {
  double factor = 1;    ///< positive: as many times as slowly
  int64_t trained = 0;  ///< places of the shorter texts, as in Llama 3.1; 0: all pairs are slowed alike, "linear"
  double low = 1;       ///< positive: pairs that turn at most that often in `trained` places are slowed,
  double high = 4;      ///< above low: those that turn at least that often are not, and those between in part

  friend bool operator==(const RotaryScaling&, const RotaryScaling&) = default;
};

/// Options of F::rotary_embedding.
struct RotaryOptions {
  int64_t first = 0;           ///< place of the first row
  double base = 10000;         ///< above 0: pair i turns by place / base^(2 i / D)
  bool interleaved = false;    ///< pairs are neighbours, as in the paper; otherwise the halves of a row, as in Llama
  RotaryScaling scaling = {};  ///< for places behind those of training
};

/// Turns pairs of the elements of each row by an angle that grows with its place, so that products of rows depend on
/// how far they are apart. x: (..., T, D), floating, D even; row t is at place first + t. Returns y like x. Throws
/// TypeError for other shapes, ValueError for other options. Differentiable to any order. Su et al. 2021.
KUSARI_API Variable rotary_embedding(const Variable& x, const RotaryOptions& options = {});

}  // namespace kusari::functions
