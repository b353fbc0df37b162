#include "kusari/tests/golden_runner/optimizers.h"

#include <functional>
#include <map>
#include <utility>

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
#include "kusari/tests/golden_runner/args.h"
#include "kusari/tests/golden_runner/compare.h"

namespace kusari::golden {
namespace {

using Made = std::unique_ptr<Optimizer>;

/// What Chainer's constructor has of Adam's options: AdamW and the others have some.
template <class T>
Made make_adam(Args& a) {
  optimizers::AdamOptions o;
  const auto number = [&](const char* name, double& value) {
    if (a.signature().find(name) != nullptr) value = a.number(name);
  };
  const auto flag = [&](const char* name, bool& value) {
    if (a.signature().find(name) != nullptr) value = a.flag(name);
  };
  number("alpha", o.alpha);
  number("beta1", o.beta1);
  number("beta2", o.beta2);
  number("eps", o.eps);
  number("eta", o.eta);
  number("weight_decay_rate", o.weight_decay_rate);
  number("final_lr", o.final_lr);
  number("gamma", o.gamma);
  flag("amsgrad", o.amsgrad);
  flag("adabound", o.adabound);
  return std::make_unique<T>(o);
}

/// A constructor of one or two numbers.
template <class T>
Made make_of_number(Args& a, const char* name) {
  return std::make_unique<T>(a.number(name));
}
template <class T>
Made make_of_numbers(Args& a, const char* first, const char* second) {
  return std::make_unique<T>(a.number(first), a.number(second));
}

const std::map<std::string, std::function<Made(Args&)>> kOptimizers = {
    {"AMSBound", make_adam<optimizers::AMSBound>},
    {"AMSGrad", make_adam<optimizers::AMSGrad>},
    {"AdaBound", make_adam<optimizers::AdaBound>},
    {"AdaDelta", [](Args& a) { return make_of_numbers<optimizers::AdaDelta>(a, "rho", "eps"); }},
    {"AdaGrad", [](Args& a) { return make_of_numbers<optimizers::AdaGrad>(a, "lr", "eps"); }},
    {"Adam", make_adam<optimizers::Adam>},
    {"AdamW", make_adam<optimizers::AdamW>},
    {"CorrectedMomentumSGD",
     [](Args& a) { return make_of_numbers<optimizers::CorrectedMomentumSGD>(a, "lr", "momentum"); }},
    {"MSVAG",
     [](Args& a) -> Made {
       return std::make_unique<optimizers::MSVAG>(
           optimizers::MSVAGOptions{.lr = a.number("lr"),
                                    .beta = a.number("beta"),
                                    .eta = a.number("eta"),
                                    .weight_decay_rate = a.number("weight_decay_rate")});
     }},
    {"MomentumSGD", [](Args& a) { return make_of_numbers<optimizers::MomentumSGD>(a, "lr", "momentum"); }},
    {"NesterovAG", [](Args& a) { return make_of_numbers<optimizers::NesterovAG>(a, "lr", "momentum"); }},
    {"RMSprop",
     [](Args& a) -> Made {
       return std::make_unique<optimizers::RMSprop>(
           optimizers::RMSpropOptions{.lr = a.number("lr"),
                                      .alpha = a.number("alpha"),
                                      .eps = a.number("eps"),
                                      .eps_inside_sqrt = a.flag("eps_inside_sqrt")});
     }},
    {"RMSpropGraves",
     [](Args& a) -> Made {
       return std::make_unique<optimizers::RMSpropGraves>(optimizers::RMSpropGravesOptions{
           .lr = a.number("lr"), .alpha = a.number("alpha"), .momentum = a.number("momentum"), .eps = a.number("eps")});
     }},
    {"SGD", [](Args& a) { return make_of_number<optimizers::SGD>(a, "lr"); }},
    {"SMORMS3", [](Args& a) { return make_of_numbers<optimizers::SMORMS3>(a, "lr", "eps"); }},
};

namespace H = optimizer_hooks;

const std::map<std::string, std::function<OptimizerHook(Args&)>> kHooks = {
    {"GradientClipping", [](Args& a) { return H::GradientClipping(a.number("threshold")); }},
    {"GradientHardClipping",
     [](Args& a) { return H::GradientHardClipping(a.number("lower_bound"), a.number("upper_bound")); }},
    {"GradientLARS",
     [](Args& a) {
       return H::GradientLARS(
           {.threshold = a.number("threshold"), .weight_decay = a.number("weight_decay"), .eps = a.number("eps")});
     }},
    {"GradientNoise",
     [](Args& a) {
       a.refuse("noise_func");
       return H::GradientNoise(a.number("eta"));
     }},
    {"Lasso", [](Args& a) { return H::Lasso(a.number("rate")); }},
    {"WeightDecay", [](Args& a) { return H::WeightDecay(a.number("rate")); }},
};

template <class Result, class Table>
Result made_from(const Table& table, const std::string& area, const std::string& name, const Json& ctor) {
  const auto entry = table.find(name);
  if (entry == table.end()) throw Unsupported(area + " " + name);
  const Inputs none;
  Args args(signature_of(area, name), ctor, Json::object(), none);
  Result made = entry->second(args);
  args.check_all_used();
  return made;
}

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const std::string& name, const Json& ctor) {
  return made_from<Made>(kOptimizers, "optimizer", name, ctor);
}

OptimizerHook make_hook(const std::string& name, const Json& ctor) {
  return made_from<OptimizerHook>(kHooks, "optimizer_hook", name, ctor);
}

CaseParameters::CaseParameters(const Case& c, const std::string& prefix) {
  size_t i = 0;
  for (const std::string& input : c.names("inputs")) {
    if (input.starts_with(prefix)) parameters_.at(i++).emplace(*this, input.substr(prefix.size()), c.array(input));
  }
}

}  // namespace kusari::golden
