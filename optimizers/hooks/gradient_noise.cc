#include "kusari/optimizers/hooks/gradient_noise.h"

#include <memory>
#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/initializers/normal.h"
#include "kusari/framework/kernels/optimizer.h"
#include "kusari/optimizers/hooks/fused.h"
#include "kusari/optimizers/optimizer_impl.h"

namespace kusari::optimizer_hooks {

namespace {

/// The numbers of one step, from the clock of a parameter.
struct NoiseNumbers {
  double eta;
  const UpdateRule& rule;
  Device device;
  detail::DeviceNumbers schedule = {}, numbers = {};

  /// The source of a clock of which the device alone knows how many steps there have been, else null.
  const LossScale* source() const {
    const auto* const own = dynamic_cast<const detail::KernelRule*>(&rule);
    return own != nullptr ? own->clock.source().get() : nullptr;
  }
  void write() {
    if (source() != nullptr) {
      const auto& own = static_cast<const detail::KernelRule&>(rule);
      const double counted[] = {eta, static_cast<double>(own.clock.t_and_skipped())};
      schedule.write(device, counted, 2);
      numbers.to_be_computed(device);
    } else {
      const kernels::NoiseHook hook = kernels::NoiseSchedule{eta}(static_cast<double>(rule.t()));
      numbers.write(device, &hook.deviation, 1);
    }
  }
};

}  // namespace

GradientNoise::GradientNoise(GradientNoiseOptions options) : GradientNoiseOptions{std::move(options)} {
  checked_rate(kName, "eta", eta);
}

void GradientNoise::add_other_noise(UpdateRule& rule, Parameter& parameter) const {
  GraphCapture::refuse("GradientNoise", "its noise_func runs on the host");
  const Array drawn = noise_func(parameter.array(), eta, rule.t());
  if (!drawn.is_defined() || drawn.shape() != parameter.shape()) {
    throw ValueError("GradientNoise: the parameter '" + parameter.name() + "' has shape " +
                     to_string(parameter.shape()) + " but its noise has " +
                     (drawn.is_defined() ? "shape " + to_string(drawn.shape()) : std::string("no elements")));
  }
  const Array noise = empty_like(parameter.array());
  noise.copy_from(drawn);
  Parameter* const only = &parameter;
  for (const GradientBatch& batch : batch_gradients({&only, 1})) {
    const double weight = 1;
    change_gradients<kernels::AddHook>({{noise}, batch.gradients}, constant_numbers(&weight, 1, noise.device()));
  }
}

void GradientNoise::operator()(UpdateRule& rule, Parameter& parameter) const {
  detail::make_dense(parameter);
  if (noise_func) return add_other_noise(rule, parameter);
  const Array noise = empty_like(parameter.array());
  const initializers::Normal draw{1.0};
  draw(noise);
  const Device& device = noise.device();
  const auto numbers = std::make_shared<NoiseNumbers>(NoiseNumbers{.eta = eta, .rule = rule, .device = device});
  numbers->write();
  if (GraphCapture* const capture = GraphCapture::current()) {
    if (dynamic_cast<const detail::KernelRule*>(&rule) == nullptr) {
      capture->refused("GradientNoise", "the update rule of '" + parameter.name() + "' is not an optimizer's own");
    }
    capture->on_replay(GraphCapture::When::before, [numbers] { numbers->write(); });
  }
  if (numbers->source() != nullptr) {
    auto& own = static_cast<detail::KernelRule&>(rule);
    launch<kernels::StepNumbers<kernels::NoiseSchedule>>(
        device, numbers->schedule.array, own.clock.source()->skipped_on(device), numbers->numbers.array);
  }
  Parameter* const only = &parameter;
  for (const GradientBatch& batch : batch_gradients({&only, 1})) {
    change_gradients<kernels::NoiseHook>({{noise}, batch.gradients}, numbers->numbers.array);
  }
}

}  // namespace kusari::optimizer_hooks
