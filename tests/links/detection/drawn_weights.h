#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <zlib.h>

#include "kusari/framework/core/array.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/framework/links/parameter.h"

// Numbers that follow from a name: those of tests/golden/detection/make_networks.py.
namespace kusari::testing {

inline std::vector<float> drawn_numbers(const std::string& name, int64_t n, double low, double high) {
  std::vector<float> numbers;
  numbers.reserve(static_cast<size_t>(n));
  const uint64_t start = crc32(0, reinterpret_cast<const Bytef*>(name.data()), static_cast<uInt>(name.size()));
  for (uint64_t i = 1; i <= static_cast<uint64_t>(n); ++i) {
    uint64_t z = start + i * 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    z = z ^ (z >> 31);
    numbers.push_back(static_cast<float>(low + (high - low) * (static_cast<double>(z >> 11) * 0x1p-53)));
  }
  return numbers;
}

inline Array drawn_array(const std::string& name, const Shape& shape, double low, double high) {
  return array(drawn_numbers(name, numel(shape), low, high), shape);
}

/// The sum of an array's elements times numbers of a name.
inline double projection(const std::string& name, const Array& x) {
  const std::vector<float> weights = drawn_numbers(name, x.size(), -1, 1);
  const std::vector<double> values = x.to_vector<double>();
  double sum = 0;
  for (size_t i = 0; i < values.size(); ++i) sum += values[i] * static_cast<double>(weights[i]);
  return sum;
}

inline Array drawn_parameter(const std::string& path, const Shape& shape) {
  const std::string kind = path.substr(path.rfind('/') + 1);
  if (kind == "W") {
    double fan_in = 1;
    for (int i = 1; i < shape.ndim(); ++i) fan_in *= static_cast<double>(shape[i]);
    bool is_last = false;
    for (const char* const last : {"/out/", "/multibox/", "/rpn/loc/", "/rpn/conf/", "/head/loc/", "/head/conf/"}) {
      is_last = is_last || path.find(last) != std::string::npos;
    }
    const double bound = std::sqrt(6 / fan_in) * (is_last ? 0.05 : 1);
    return drawn_array(path, shape, -bound, bound);
  }
  if (kind == "gamma") return drawn_array(path, shape, 0.4, 0.6);
  if (kind == "avg_var") return drawn_array(path, shape, 1.0, 1.5);
  if (kind == "scale") return drawn_array(path, shape, 15, 25);
  return drawn_array(path, shape, -0.1, 0.1);
}

/// All parameters and running statistics of a model.
inline void draw_weights(Link& model) {
  for (const auto& [path, parameter] : model.namedparams()) {
    parameter->array().copy_from(drawn_parameter(path, parameter->shape()));
  }
  for (const auto& [path, link] : model.namedlinks()) {
    auto* const bn = dynamic_cast<L::BatchNormalization*>(link);
    if (bn == nullptr) continue;
    bn->avg_mean.copy_from(drawn_parameter(path + "/avg_mean", bn->avg_mean.shape()));
    bn->avg_var.copy_from(drawn_parameter(path + "/avg_var", bn->avg_var.shape()));
  }
}

}  // namespace kusari::testing
