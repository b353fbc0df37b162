#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::detail {

/// Throws if it knows better than "is not given" why an input is undefined. `function`: "F::linear".
using UndefinedInputExplainer = void (*)(const char* function, const Variable& input);
/// Sets who is asked when the rules of a function refuse its inputs: the links, which know of members that were moved
/// away.
KUSARI_API void set_undefined_input_explainer(UndefinedInputExplainer explainer) noexcept;

}  // namespace kusari::detail
