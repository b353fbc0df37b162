#include "kusari/optimizers/hooks/weight_decay.h"

#include "kusari/framework/kernels/optimizer.h"
#include "kusari/optimizers/hooks/fused.h"

namespace kusari::optimizer_hooks {

WeightDecay::WeightDecay(const WeightDecayOptions& options) : WeightDecayOptions{options} {
  checked_rate(kName, "rate", rate);
}

void WeightDecay::operator()(std::span<Parameter* const> parameters) const {
  for_each_loss_scale(parameters, [&](std::span<Parameter* const> some, double loss_scale) {
    change_gradients(some, kernels::WeightDecayHook{rate * loss_scale});
  });
}

}  // namespace kusari::optimizer_hooks
