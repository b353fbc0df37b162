#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/links/link.h"
#include "kusari/tools/kusari-bench/sampling.h"

namespace bench {

/// Uniform in [0, 1).
inline double draw() { return static_cast<double>(kusari::random::bits() >> 11) * 0x1p-53; }

/// Normal numbers, float32.
inline kusari::Array draw_normal(const kusari::Shape& shape) {
  std::vector<float> values(static_cast<size_t>(kusari::numel(shape)));
  for (float& value : values) {
    value = static_cast<float>(std::sqrt(-2 * std::log(1 - draw())) * std::cos(6.283185307179586 * draw()));
  }
  return kusari::array(values, shape);
}

/// Random labels of `classes` classes, int32.
inline kusari::Array draw_labels(int64_t n, int64_t classes) {
  std::vector<int32_t> labels(static_cast<size_t>(n));
  for (int32_t& label : labels) label = static_cast<int32_t>(draw() * static_cast<double>(classes));
  return kusari::array(labels);
}

/// Training of a classifier on one batch.
template <class Model, class Optimizer>
class Training {
 public:
  Training(Model model, Optimizer optimizer, kusari::Array x, kusari::Array t)
      : model_{std::move(model)}, optimizer_{std::move(optimizer)}, x_{std::move(x)}, t_{std::move(t)} {
    optimizer_.setup(model_);
  }
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  void step() {
    optimizer_.update([this] { return kusari::functions::softmax_cross_entropy(model_(x_), t_); });
  }
  int64_t parameters() { return model_.count_params(); }

 private:
  Model model_;
  Optimizer optimizer_;
  kusari::Array x_, t_;
};

/// Further fields of a training's line of JSON.
inline std::string training_fields(int64_t parameters) {
  return ",\"params\":" + std::to_string(parameters) +
         ",\"peak_rss_mib\":" + std::to_string(static_cast<int>(peak_resident_mib()));
}

}  // namespace bench
