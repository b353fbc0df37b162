#pragma once

#include <string>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

namespace kusari::autograd {

/// "mean=0.50000000, std=0.25000000", of the whole population, in float64; NaN for an array without elements.
KUSARI_API std::string mean_and_std(const Array& array);

}  // namespace kusari::autograd
