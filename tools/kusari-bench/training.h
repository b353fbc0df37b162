#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/device.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/links/link.h"
#include "kusari/tools/kusari-bench/gradient_times.h"
#include "kusari/tools/kusari-bench/sampling.h"
#include "kusari/tools/kusari-bench/traffic.h"
#include "kusari/updaters/static_step.h"

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

/// As users train in 16 bits: float32 copies of the parameters are what is updated, and the loss of float16 models is
/// scaled dynamically.
inline void prepare_for(const Settings& settings, kusari::Optimizer& optimizer) {
  if (kusari::is_half(settings.dtype.dtype())) optimizer.use_fp32_update();
  if (settings.dtype.dtype() == kusari::Dtype::float16) optimizer.loss_scaling();
}

/// Training of a classifier on one batch, on the device and in the dtype of the settings.
template <class Model, class Optimizer>
class Training {
 public:
  Training(const Settings& settings, Model model, Optimizer optimizer, const kusari::Array& x, const kusari::Array& t,
           kusari::StaticGraphPasses passes = {})
      : model_{std::move(model)},
        optimizer_{std::move(optimizer)},
        inputs_{kusari::Variable(x.to_device(settings.device).astype(settings.dtype.dtype()), false),
                kusari::Variable(t.to_device(settings.device), false)} {
    model_.to(settings.device);
    optimizer_.setup(model_);
    prepare_for(settings, optimizer_);
    if (settings.static_graph == "step")
      static_step_.emplace(kusari::StaticGraphOptions{.passes = passes}, loss_of(), false);
    if (settings.static_graph == "model") static_model_.emplace(model_, kusari::StaticGraphOptions{.passes = passes});
  }
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  /// One step, recorded at the first call and replayed later if the settings say so.
  void step() {
    if (static_step_) return static_step_->update(optimizer_, inputs_);
    optimizer_.update([this] {
      const kusari::Variable y = static_model_ ? (*static_model_)(inputs_[0]) : model_(inputs_[0]);
      return kusari::functions::softmax_cross_entropy(y, inputs_[1]);
    });
  }
  void report_gradients(const Settings& settings, const char* name) {
    report_gradient_times(settings, name, batch(), model_, optimizer_,
                          [this] { return kusari::functions::softmax_cross_entropy(model_(inputs_[0]), inputs_[1]); });
  }
  int64_t parameters() { return model_.count_params(); }
  int64_t batch() const { return inputs_[0].shape()[0]; }
  kusari::updaters::StaticStep::LossOf loss_of() {
    return [this](kusari::Optimizer&, std::span<const kusari::Variable> inputs) {
      return kusari::functions::softmax_cross_entropy(model_(inputs[0]), inputs[1]);
    };
  }

 private:
  Model model_;
  Optimizer optimizer_;
  kusari::Variable inputs_[2];
  std::optional<kusari::updaters::StaticStep> static_step_;
  std::optional<kusari::StaticGraph<Model&>> static_model_;
};

/// Further fields of a training's line of JSON.
inline std::string training_fields(int64_t parameters) {
  return ",\"params\":" + std::to_string(parameters) +
         ",\"peak_rss_mib\":" + std::to_string(static_cast<int>(peak_resident_mib()));
}

/// Measures the steps of a training and prints the result: under `name` in `unit` with `scale` on the processor, as
/// the programs of GPU frameworks do under `gpu_name` on a GPU. `training`: a Training, or what has its step(),
/// parameters() and batch().
template <class Measured>
void report_training(const Settings& settings, Measured& training, const char* name, const char* gpu_name,
                     const char* unit, double scale, const std::string& more = "", const char* layout = "plain") {
  if constexpr (requires { training.report_gradients(settings, gpu_name); }) {
    if (settings.gradient_times) return training.report_gradients(settings, gpu_name);
  }
  if (settings.traffic > 0) return report_traffic(settings, gpu_name, training.batch(), [&] { training.step(); });
  if (!settings.device.is_cpu()) {
    training.step();  // what stays from the first step on: parameters' state
    kusari::cuda::reset_max_memory_allocated(settings.device.index());
  }
  const Samples samples = sample(settings, [&] { training.step(); });
  if (settings.device.is_cpu()) {
    report(settings, name, unit, samples, scale,
           more + static_graph_field(settings) + training_fields(training.parameters()), layout);
  } else {
    report_device(settings, gpu_name, training.batch(), samples);
  }
}

}  // namespace bench
