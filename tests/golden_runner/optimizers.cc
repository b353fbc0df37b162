#include "kusari/tests/golden_runner/optimizers.h"

#include "kusari/optimizers/ada_delta.h"
#include "kusari/optimizers/ada_grad.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/corrected_momentum_sgd.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/optimizers/msvag.h"
#include "kusari/optimizers/nesterov_ag.h"
#include "kusari/optimizers/optimizer_hooks.h"
#include "kusari/optimizers/rmsprop.h"
#include "kusari/optimizers/rmsprop_graves.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/optimizers/smorms3.h"
#include "kusari/tests/golden_runner/compare.h"

namespace kusari::golden {
namespace {

template <class T>
std::unique_ptr<Optimizer> make_adam(const Json& ctor) {
  optimizers::AdamOptions o;
  o.alpha = ctor.value("alpha", o.alpha);
  o.amsgrad = ctor.value("amsgrad", o.amsgrad);
  o.adabound = ctor.value("adabound", o.adabound);
  return std::make_unique<T>(o);
}

std::unique_ptr<Optimizer> make_default(const std::string& name, const Json& ctor) {
  if (name == "SGD") return std::make_unique<optimizers::SGD>();
  if (name == "MomentumSGD") return std::make_unique<optimizers::MomentumSGD>();
  if (name == "CorrectedMomentumSGD") return std::make_unique<optimizers::CorrectedMomentumSGD>();
  if (name == "NesterovAG") return std::make_unique<optimizers::NesterovAG>();
  if (name == "AdaGrad") return std::make_unique<optimizers::AdaGrad>();
  if (name == "AdaDelta") return std::make_unique<optimizers::AdaDelta>();
  if (name == "RMSprop") {
    optimizers::RMSpropOptions o;
    o.eps_inside_sqrt = ctor.value("eps_inside_sqrt", false);
    return std::make_unique<optimizers::RMSprop>(o);
  }
  if (name == "RMSpropGraves") return std::make_unique<optimizers::RMSpropGraves>();
  if (name == "SMORMS3") return std::make_unique<optimizers::SMORMS3>();
  if (name == "Adam") return make_adam<optimizers::Adam>(ctor);
  if (name == "AdamW") return make_adam<optimizers::AdamW>(ctor);
  if (name == "AMSGrad") return make_adam<optimizers::AMSGrad>(ctor);
  if (name == "AdaBound") return make_adam<optimizers::AdaBound>(ctor);
  if (name == "AMSBound") return make_adam<optimizers::AMSBound>(ctor);
  if (name == "MSVAG") return std::make_unique<optimizers::MSVAG>();
  throw Unsupported("optimizer " + name);
}

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const std::string& name, const Json& ctor) {
  std::unique_ptr<Optimizer> optimizer = make_default(name, ctor);
  for (const auto& [key, value] : ctor.items()) {
    if (value.is_number()) optimizer->hyperparameter(key) = value.get<double>();
  }
  return optimizer;
}

OptimizerHook make_hook(const std::string& name, const Json& ctor) {
  using namespace optimizer_hooks;
  if (name == "WeightDecay") return WeightDecay(ctor.at("rate"));
  if (name == "Lasso") return Lasso(ctor.at("rate"));
  if (name == "GradientClipping") return GradientClipping(ctor.at("threshold"));
  if (name == "GradientHardClipping") return GradientHardClipping(ctor.at("lower_bound"), ctor.at("upper_bound"));
  if (name == "GradientLARS") {
    GradientLARSOptions o;
    o.threshold = ctor.value("threshold", o.threshold);
    o.weight_decay = ctor.value("weight_decay", o.weight_decay);
    o.eps = ctor.value("eps", o.eps);
    return GradientLARS(o);
  }
  throw Unsupported("hook " + name);
}

CaseParameters::CaseParameters(const Case& c, const std::string& prefix) {
  size_t i = 0;
  for (const std::string& input : c.names("inputs")) {
    if (input.starts_with(prefix)) parameters_.at(i++).emplace(*this, input.substr(prefix.size()), c.array(input));
  }
}

}  // namespace kusari::golden
