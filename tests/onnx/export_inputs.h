#pragma once

#include <cstdint>
#include <vector>

#include "kusari/framework/kusari.h"

// Arguments of the models that onnx_export_cases writes.
namespace kusari::testing {

inline Variable drawn(const Shape& shape, double low, double high, uint32_t& state) {
  std::vector<float> values(static_cast<size_t>(numel(shape)));
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(low + (high - low) * (state >> 8) / 16777216.0);
  }
  return Variable(array(values, shape), false);
}

// Other numbers at each call.
inline Variable uniform(const Shape& shape, double low = -1, double high = 1) {
  static uint32_t state = 1;
  return drawn(shape, low, high, state);
}

// The same at each call, for models that are called several times.
inline Variable fixed(const Shape& shape, double low = -1, double high = 1) {
  uint32_t state = 99;
  return drawn(shape, low, high, state);
}

inline Variable integers(const Shape& shape, int64_t end) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < numel(shape); ++i) values.push_back((i * 7 + 3) % end);
  return Variable(array(values, shape), false);
}

}  // namespace kusari::testing
