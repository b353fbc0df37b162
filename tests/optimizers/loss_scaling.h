#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/optimizers/ada_delta.h"
#include "kusari/optimizers/ada_grad.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/corrected_momentum_sgd.h"
#include "kusari/optimizers/decoupled_adamw.h"
#include "kusari/optimizers/lamb.h"
#include "kusari/optimizers/lars.h"
#include "kusari/optimizers/lion.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/optimizers/msvag.h"
#include "kusari/optimizers/nadam.h"
#include "kusari/optimizers/nesterov_ag.h"
#include "kusari/optimizers/optimizer.h"
#include "kusari/optimizers/radam.h"
#include "kusari/optimizers/rmsprop.h"
#include "kusari/optimizers/rmsprop_graves.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/optimizers/smorms3.h"
#include "kusari/tests/quiet_log.h"
#include "kusari/tests/test_device.h"

// What the tests of loss scaling share.
namespace kusari::testing {

using Values = std::vector<double>;
using OptimizerPtr = std::unique_ptr<Optimizer>;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// All optimizers, with hyperparameters that 16-bit numbers can follow.
inline const std::vector<std::pair<std::string, std::function<OptimizerPtr()>>>& all_optimizers() {
  namespace o = optimizers;
  static const std::vector<std::pair<std::string, std::function<OptimizerPtr()>>> all = {
      {"SGD", [] { return std::make_unique<o::SGD>(0.125); }},
      {"MomentumSGD", [] { return std::make_unique<o::MomentumSGD>(0.1); }},
      {"CorrectedMomentumSGD", [] { return std::make_unique<o::CorrectedMomentumSGD>(0.1); }},
      {"NesterovAG", [] { return std::make_unique<o::NesterovAG>(0.1); }},
      {"AdaGrad", [] { return std::make_unique<o::AdaGrad>(0.1, 1e-4); }},
      {"AdaDelta", [] { return std::make_unique<o::AdaDelta>(0.95, 1e-3); }},
      {"RMSprop", [] { return std::make_unique<o::RMSprop>(o::RMSpropOptions{.lr = 0.05, .eps = 1e-3}); }},
      {"RMSprop, eps inside",
       [] {
         return std::make_unique<o::RMSprop>(o::RMSpropOptions{.lr = 0.05, .eps = 1e-3, .eps_inside_sqrt = true});
       }},
      {"RMSpropGraves",
       [] { return std::make_unique<o::RMSpropGraves>(o::RMSpropGravesOptions{.lr = 0.01, .eps = 1e-3}); }},
      {"SMORMS3", [] { return std::make_unique<o::SMORMS3>(0.05, 1e-3); }},
      {"Adam", [] { return std::make_unique<o::Adam>(o::AdamOptions{.alpha = 0.1, .eps = 1e-3}); }},
      {"AdamW",
       [] { return std::make_unique<o::AdamW>(o::AdamOptions{.alpha = 0.1, .eps = 1e-3, .weight_decay_rate = 0.1}); }},
      {"AMSGrad", [] { return std::make_unique<o::AMSGrad>(o::AdamOptions{.alpha = 0.1, .eps = 1e-3}); }},
      {"AdaBound",
       [] { return std::make_unique<o::AdaBound>(o::AdamOptions{.alpha = 0.1, .eps = 1e-3, .gamma = 0.25}); }},
      {"AMSBound",
       [] { return std::make_unique<o::AMSBound>(o::AdamOptions{.alpha = 0.1, .eps = 1e-3, .gamma = 0.25}); }},
      {"MSVAG", [] { return std::make_unique<o::MSVAG>(o::MSVAGOptions{.lr = 0.1, .weight_decay_rate = 0.01}); }},
      {"DecoupledAdamW",
       [] { return std::make_unique<o::DecoupledAdamW>(o::DecoupledAdamWOptions{.lr = 0.1, .eps = 1e-3}); }},
      {"LAMB", [] { return std::make_unique<o::LAMB>(o::LAMBOptions{.lr = 0.1, .eps = 1e-3}); }},
      {"LARS", [] { return std::make_unique<o::LARS>(o::LARSOptions{.weight_decay_rate = 0.01}); }},
      {"Lion", [] { return std::make_unique<o::Lion>(o::LionOptions{.lr = 0.0625, .weight_decay_rate = 0.01}); }},
      {"RAdam", [] { return std::make_unique<o::RAdam>(o::RAdamOptions{.lr = 0.1, .eps = 1e-3}); }},
      {"NAdam", [] { return std::make_unique<o::NAdam>(o::NAdamOptions{.lr = 0.1, .eps = 1e-3}); }},
  };
  return all;
}

struct Storage {
  std::string text;
  Dtype dtype;
  bool has_masters;
};
inline const Storage kStorages[] = {{"float32", Dtype::float32, false},
                                    {"float16", Dtype::float16, false},
                                    {"float16 with masters", Dtype::float16, true},
                                    {"bfloat16", Dtype::bfloat16, false},
                                    {"bfloat16 with masters", Dtype::bfloat16, true}};

/// Scales that stay powers of two in these tests, so that scaling is exact.
struct Scaling {
  std::string text;
  LossScalingOptions options;
};
inline const Scaling kScalings[] = {
    {"fixed", {.scale = 64}},
    {"continuous", {.interval = 1, .initial_scale = 16}},
    {"stepwise", {.interval = 2, .growth = LossScaleGrowth::stepwise, .initial_scale = 64}},
};

/// The gradient of the sum of a * x and b * x[0] is x.
class Model : public Chain {
 public:
  explicit Model(Dtype dtype)
      : a{*this, "a", first({5, 7}, dtype)}, b{*this, "b", first({7}, dtype)}, c{*this, "c", first({1}, dtype)} {}
  Variable operator()(const Variable& x) {
    return functions::sum(a * x) + functions::sum(b * functions::sum(x, {0})) + functions::sum(c);
  }
  Parameter a, b, c;

 private:
  static Array first(const Shape& shape, Dtype dtype) {
    std::vector<double> values(static_cast<size_t>(numel(shape)));
    for (size_t i = 0; i < values.size(); ++i) values[i] = 0.5 + static_cast<double>(i % 11) / 16;
    return array(values, shape).astype(dtype).to_device(test_device());
  }
};

/// Input of clean step i: multiples of 1/32 below 1.
inline Variable input(int i, Dtype dtype, double injected = 0) {
  std::mt19937 random(static_cast<unsigned>(100 + i));
  Values values(35);
  for (double& value : values) value = (static_cast<double>(random() % 63) - 31) / 32;
  if (injected != 0) values[random() % 35] = injected;
  return Variable(array(values, {5, 7}).astype(dtype).to_device(test_device()), false);
}

/// All that a step may change, as bits.
inline std::vector<Values> state_of(Model& model, const Optimizer& optimizer) {
  std::vector<Values> state;
  for (const Parameter* const parameter : model.params()) {
    state.push_back(parameter->array().to_vector<double>());
    UpdateRule& rule = parameter->update_rule();
    for (const char* const name :
         {"fp32_param", "m", "v", "vhat", "ms", "n", "mem", "g", "g2", "h", "msg", "msdx", "delta"}) {
      const Array array = rule.state(name);
      if (array.is_defined()) state.push_back(array.to_vector<double>());
    }
    state.push_back({static_cast<double>(rule.t())});
  }
  state.push_back({static_cast<double>(optimizer.t())});
  return state;
}

struct Setup {
  Model model;
  OptimizerPtr optimizer;
  Setup(const std::function<OptimizerPtr()>& make, const Storage& storage,
        const std::function<void(Optimizer&)>& prepare = nullptr)
      : model{storage.dtype}, optimizer{make()} {
    optimizer->use_fp32_update(storage.has_masters);
    optimizer->setup(model);
    if (prepare) prepare(*optimizer);
  }
};

}  // namespace kusari::testing
