#pragma once

#include "kusari/framework/core/backend.h"

// One function for each list of functors, called by pointwise.cc alone.
namespace kusari::cuda {

void register_activation_functors(Backend& backend);  // pointwise_activation.cu
void register_arithmetic_functors(Backend& backend);  // pointwise_arithmetic.cu
void register_comparison_functors(Backend& backend);  // pointwise_comparison.cu
void register_math_functors(Backend& backend);        // pointwise_math.cu

}  // namespace kusari::cuda
