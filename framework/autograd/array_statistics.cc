#include "kusari/framework/autograd/array_statistics.h"

#include <cmath>
#include <cstdio>
#include <vector>

namespace kusari::autograd {

std::string mean_and_std(const Array& array) {
  const std::vector<double> values = array.to_vector<double>();
  const auto count = static_cast<double>(values.size());
  double mean = values.empty() ? std::nan("") : 0, square = mean;
  for (const double value : values) mean += value / count;
  for (const double value : values) square += (value - mean) * (value - mean) / count;
  char text[96];
  std::snprintf(text, sizeof(text), "mean=%.8f, std=%.8f", mean, std::sqrt(square));
  return text;
}

}  // namespace kusari::autograd
