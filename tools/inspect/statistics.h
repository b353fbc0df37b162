#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kusari/framework/core/array.h"

namespace inspect {

/// Of the finite values, but for the counts.
struct Statistics {
  double min = std::numeric_limits<double>::quiet_NaN();
  double max = min, mean = min, std = min;
  int64_t nan = 0, inf = 0, zero = 0;
};

inline Statistics statistics_of(const kusari::Array& array) {
  Statistics s;
  const std::vector<double> values = array.to_vector<double>();
  double sum = 0, squares = 0;
  int64_t finite = 0;
  for (const double v : values) {
    s.nan += std::isnan(v);
    s.inf += std::isinf(v);
    s.zero += v == 0;
    if (!std::isfinite(v)) continue;
    s.min = finite == 0 ? v : std::min(s.min, v);
    s.max = finite == 0 ? v : std::max(s.max, v);
    sum += v;
    ++finite;
  }
  if (finite == 0) return s;
  s.mean = sum / static_cast<double>(finite);
  for (const double v : values) {
    if (std::isfinite(v)) squares += (v - s.mean) * (v - s.mean);
  }
  s.std = std::sqrt(squares / static_cast<double>(finite));
  return s;
}

}  // namespace inspect
