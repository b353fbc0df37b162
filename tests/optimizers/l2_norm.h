#pragma once

#include <cmath>
#include <vector>

namespace kusari::testing {

inline double l2_norm(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

}  // namespace kusari::testing
