#pragma once

#include <vector>

#include "kusari/framework/core/array.h"

namespace kusari::testing {

using Values = std::vector<double>;

inline Values values(const Array& x) { return x.to_vector<double>(); }

}  // namespace kusari::testing
