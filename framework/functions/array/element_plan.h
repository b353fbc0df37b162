#pragma once

#include <cstdint>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/functions/array/index_plan.h"

// Arrays of indices, as gathers and scatters have them, as indices by axes.
namespace kusari::functions {

/// The elements that gather_elements takes, and scatter_elements changes.
IndexPlan element_plan(const char* call, const Variable& x, const Variable& indices, int64_t axis);
/// The parts that gather_nd takes, and scatter_nd changes.
IndexPlan vector_plan(const char* call, const Variable& x, const Variable& indices, int64_t batch_dims);

}  // namespace kusari::functions
