#pragma once

#include <functional>

#include "kusari/framework/core/array.h"

namespace kusari::cuda {

/// Weights in the form that a library wants: make(), or what it gave before if nothing has written to w since.
/// `form` tells the forms of one array apart. They are kept beside w if it `is_fixed`, that is, will come again
/// unchanged.
Array kept_weights(const Array& w, bool is_fixed, int64_t form, const std::function<Array()>& make);

}  // namespace kusari::cuda
