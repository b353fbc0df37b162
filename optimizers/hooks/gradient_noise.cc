#include "kusari/optimizers/hooks/gradient_noise.h"

#include "kusari/framework/initializers/normal.h"
#include "kusari/framework/kernels/optimizer.h"
#include "kusari/optimizers/hooks/fused.h"
#include "kusari/optimizers/rule.h"

namespace kusari::optimizer_hooks {

void GradientNoise::operator()(UpdateRule& rule, Parameter& parameter) const {
  const Array noise = empty_like(parameter.array());
  const initializers::Normal draw{1.0};
  draw(noise);
  const kernels::NoiseSchedule schedule{eta};
  const Device& device = noise.device();
  Array numbers;
  if (const auto* own = dynamic_cast<const detail::KernelRule*>(&rule); own != nullptr && own->clock.source()) {
    // The device alone knows how many steps there have been.
    const double counted[] = {eta, static_cast<double>(own->clock.t_and_skipped())};
    numbers = empty({1}, Dtype::float64, device);
    launch<kernels::StepNumbers<kernels::NoiseSchedule>>(device, from_host(counted, {2}, Dtype::float64, device),
                                                         own->clock.source()->skipped_on(device), numbers);
  } else {
    const kernels::NoiseHook hook = schedule(static_cast<double>(rule.t()));
    numbers = from_host(&hook, {1}, Dtype::float64, device);
  }
  Parameter* const only = &parameter;
  for (const GradientBatch& batch : batch_gradients({&only, 1})) {
    change_gradients<kernels::NoiseHook>({{noise}, batch.gradients}, numbers);
  }
}

}  // namespace kusari::optimizer_hooks
