#include "kusari/optimizers/hooks/gradient_lars.h"

#include "kusari/framework/kernels/optimizer.h"
#include "kusari/optimizers/hooks/fused.h"

namespace kusari::optimizer_hooks {

GradientLARS::GradientLARS(const GradientLARSOptions& options) : GradientLARSOptions{options} {
  checked_rate(kName, "threshold", threshold);
  checked_rate(kName, "weight_decay", weight_decay);
  checked_rate(kName, "eps", eps);
}

void GradientLARS::operator()(std::span<Parameter* const> parameters) const {
  for (const GradientBatch& batch : batch_gradients(parameters)) {
    const Device& device = batch.parameters.front().device();
    const auto n = static_cast<int64_t>(batch.parameters.size());
    const auto squared_norms = [&](std::span<const Array> arrays) {
      const Array squares = empty({n}, Dtype::float64, device);
      launch<kernels::SquaredNorm>(device, InList(arrays), squares);
      return squares;
    };
    const Array numbers = empty({n, 2}, Dtype::float64, device);
    launch<kernels::GradientLarsNumbers>(device, squared_norms(batch.parameters), squared_norms(batch.gradients),
                                         kernels::LarsRate{threshold, weight_decay, eps}, numbers);
    change_gradients<kernels::LarsHook>(batch, numbers);
  }
}

}  // namespace kusari::optimizer_hooks
