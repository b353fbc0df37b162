#pragma once

#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/attention/rotary_embedding.h"

namespace kusari::functions {

/// What the angles of F::rotary_embedding depend on.
struct RotaryAngles {
  int64_t half;  ///< pairs of a row
  double base;
  Dtype dtype;  ///< of the table
  RotaryScaling scaling = {};

  friend bool operator==(const RotaryAngles&, const RotaryAngles&) = default;
};

/// By how much each pair turns from one place to the next, in radians.
KUSARI_API std::vector<double> rotary_turns(const RotaryAngles& angles);

/// The cosines and sines of the places first .. first + times - 1: (times, 2, half), C-ordered, worked out in float64.
/// The tables of the last angles and devices are kept and grow, so that a text that is generated place by place does
/// not compute them again; those of far places, which would be large, are not. Any thread may call it; a static graph
/// keeps the result as a constant.
KUSARI_API Array rotary_table(const RotaryAngles& angles, int64_t first, int64_t times, const Device& device);

}  // namespace kusari::functions
