#include "kusari/optimizers/hooks/lasso.h"

#include "kusari/framework/kernels/optimizer.h"
#include "kusari/optimizers/hooks/fused.h"

namespace kusari::optimizer_hooks {

Lasso::Lasso(double decay_rate) : rate{checked_rate(kName, "rate", decay_rate)} {}

void Lasso::operator()(std::span<Parameter* const> parameters) const {
  change_gradients(parameters, kernels::LassoHook{rate});
}

}  // namespace kusari::optimizer_hooks
