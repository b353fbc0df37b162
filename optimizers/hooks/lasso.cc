#include "kusari/optimizers/hooks/lasso.h"

#include "kusari/framework/kernels/optimizer.h"
#include "kusari/optimizers/hooks/fused.h"

namespace kusari::optimizer_hooks {

Lasso::Lasso(const LassoOptions& options) : LassoOptions{options} { checked_rate(kName, "rate", rate); }

void Lasso::operator()(std::span<Parameter* const> parameters) const {
  change_gradients(parameters, kernels::LassoHook{rate});
}

}  // namespace kusari::optimizer_hooks
