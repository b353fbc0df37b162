#include <functional>

#include "kusari/tests/misuse/misuse.h"

namespace kusari::misuse {
namespace {

namespace O = optimizers;

const std::string kFinite = ": it must be finite";
const std::string kNotNegative = ": it must be finite and not negative";
const std::string kBelowOne = ": it must be at least 0 and less than 1";
const std::string kToOne = ": it must be at least 0 and at most 1";

template <class Optimizer, class... Arguments>
std::function<void()> setup_of(Arguments... arguments) {
  return [=] {
    Net net;
    Optimizer optimizer(arguments...);
    optimizer.setup(net);
  };
}

struct RangeCase {
  std::function<void()> call;
  std::string text;
};

void check_ranges(std::initializer_list<RangeCase> cases) {
  for (const auto& [call, text] : cases) CHECK_THROWS_WITH_AS(call(), text.c_str(), ValueError);
}

TEST_CASE("misuse: hyperparameters that an optimizer refuses") {
  check_ranges({
      {setup_of<O::SGD>(kNaN), "SGD: lr is nan" + kFinite},
      {setup_of<O::SGD>(-kInfinity), "SGD: lr is -inf" + kFinite},
      {setup_of<O::MomentumSGD>(kInfinity, 0.9), "MomentumSGD: lr is inf" + kFinite},
      {setup_of<O::MomentumSGD>(0.1, -0.5), "MomentumSGD: momentum is -0.5" + kNotNegative},
      {setup_of<O::CorrectedMomentumSGD>(0.1, kNaN), "CorrectedMomentumSGD: momentum is nan" + kNotNegative},
      {setup_of<O::NesterovAG>(0.1, -1.0), "NesterovAG: momentum is -1" + kNotNegative},
      {setup_of<O::AdaGrad>(0.1, -1e-8), "AdaGrad: eps is -1e-08" + kNotNegative},
      {setup_of<O::AdaDelta>(1.5, 1e-6), "AdaDelta: rho is 1.5" + kToOne},
      {setup_of<O::AdaDelta>(0.95, kNaN), "AdaDelta: eps is nan" + kNotNegative},
      {setup_of<O::SMORMS3>(0.1, -1.0), "SMORMS3: eps is -1" + kNotNegative},
      {setup_of<O::RMSprop>(O::RMSpropOptions{.alpha = -0.1}), "RMSprop: alpha is -0.1" + kToOne},
      {setup_of<O::RMSprop>(O::RMSpropOptions{.eps = kInfinity}), "RMSprop: eps is inf" + kNotNegative},
      {setup_of<O::RMSpropGraves>(O::RMSpropGravesOptions{.alpha = 2}), "RMSpropGraves: alpha is 2" + kToOne},
      {setup_of<O::RMSpropGraves>(O::RMSpropGravesOptions{.momentum = -1}),
       "RMSpropGraves: momentum is -1" + kNotNegative},
      {setup_of<O::Adam>(O::AdamOptions{.alpha = kNaN}), "Adam: alpha is nan" + kFinite},
      {setup_of<O::Adam>(O::AdamOptions{.beta1 = 1}), "Adam: beta1 is 1" + kBelowOne},
      {setup_of<O::Adam>(O::AdamOptions{.beta2 = -0.1}), "Adam: beta2 is -0.1" + kBelowOne},
      {setup_of<O::Adam>(O::AdamOptions{.eps = -1}), "Adam: eps is -1" + kNotNegative},
      {setup_of<O::Adam>(O::AdamOptions{.eta = kNaN}), "Adam: eta is nan" + kFinite},
      {setup_of<O::AdamW>(O::AdamOptions{.weight_decay_rate = -1}), "AdamW: weight_decay_rate is -1" + kNotNegative},
      {setup_of<O::AMSGrad>(O::AdamOptions{.beta2 = kNaN}), "AMSGrad: beta2 is nan" + kBelowOne},
      {setup_of<O::AdaBound>(O::AdamOptions{.final_lr = -1}), "AdaBound: final_lr is -1" + kNotNegative},
      {setup_of<O::AdaBound>(O::AdamOptions{.alpha = 0}), "AdaBound: alpha is 0: it must be finite and positive"},
      {setup_of<O::AMSBound>(O::AdamOptions{.gamma = 0}), "AMSBound: gamma is 0: it must be finite and positive"},
      {setup_of<O::MSVAG>(O::MSVAGOptions{.beta = 1}), "MSVAG: beta is 1" + kBelowOne},
      {setup_of<O::DecoupledAdamW>(O::DecoupledAdamWOptions{.beta1 = -1}), "DecoupledAdamW: beta1 is -1" + kBelowOne},
      {setup_of<O::LARS>(O::LARSOptions{.trust_coefficient = -1}), "LARS: trust_coefficient is -1" + kNotNegative},
      {setup_of<O::LAMB>(O::LAMBOptions{.lr = kNaN}), "LAMB: lr is nan" + kFinite},
      {setup_of<O::Lion>(O::LionOptions{.beta2 = 1}), "Lion: beta2 is 1" + kBelowOne},
      {setup_of<O::RAdam>(O::RAdamOptions{.eps = -1}), "RAdam: eps is -1" + kNotNegative},
      {setup_of<O::NAdam>(O::NAdamOptions{.momentum_decay = -1}), "NAdam: momentum_decay is -1" + kNotNegative},
  });
}

TEST_CASE("a hyperparameter that has become NaN stops the next update before it changes a parameter") {
  for (const bool is_override : {false, true}) {
    CAPTURE(is_override);
    Net net;
    O::Adam optimizer;
    optimizer.setup(net);
    const std::vector<float> before = net.l.W.array().to_vector<float>();
    if (is_override) {
      net.l.W.update_rule().hyperparam().eps = kNaN;
      net.l.b.update_rule().hyperparam().eps = kNaN;
    } else {
      optimizer.alpha = kNaN;
    }
    const auto update = [&] { optimizer.update(net, real({2, 3})); };
    CHECK_THROWS_WITH_AS(
        update(),
        is_override ? "Adam: eps is nan: it must be finite and not negative" : "Adam: alpha is nan: it must be finite",
        ValueError);
    CHECK(net.l.W.array().to_vector<float>() == before);
    CHECK(optimizer.eps == 1e-8);  // not the parameter's
  }
}

// The optimizer's own numbers stood in for the parameter's when the other name was found missing.
TEST_CASE("a parameter's hyperparameter that the optimizer lacks leaves the optimizer's own alone") {
  Net net;
  O::SGD optimizer(0.5);
  optimizer.setup(net);
  Hyperparameters& own = net.l.W.update_rule().hyperparam();
  own.lr = 7;
  own.momentum = 0.5;
  CHECK_THROWS_WITH_AS(optimizer.update(net, real({2, 3})),
                       "SGD::hyperparameter: there is no 'momentum': it must be one of lr", KeyError);
  CHECK(optimizer.lr == 0.5);
}

TEST_CASE("misuse: rates of optimizer hooks") {
  namespace H = optimizer_hooks;
  check_ranges({
      {[] { H::WeightDecay hook(kNaN); }, "WeightDecay: rate is nan" + kNotNegative},
      {[] { H::WeightDecay hook(-1e-4); }, "WeightDecay: rate is -0.0001" + kNotNegative},
      {[] { H::Lasso hook(kInfinity); }, "Lasso: rate is inf" + kNotNegative},
      {[] { H::GradientNoise hook(-1); }, "GradientNoise: eta is -1" + kNotNegative},
      {[] { H::GradientLARS hook({.threshold = -1}); }, "GradientLARS: threshold is -1" + kNotNegative},
      {[] { H::GradientLARS hook({.weight_decay = kNaN}); }, "GradientLARS: weight_decay is nan" + kNotNegative},
      {[] { H::GradientLARS hook({.eps = -1}); }, "GradientLARS: eps is -1" + kNotNegative},
      {[] { H::GradientHardClipping hook(kNaN, 1); },
       "GradientHardClipping: lower_bound is nan and upper_bound is 1: lower_bound must be at most upper_bound"},
  });
}

TEST_CASE("misuse: numbers of hyperparameter shifts") {
  namespace ext = training::extensions;
  check_ranges({
      {[] { ext::ExponentialShift shift("", 0.5); }, "ExponentialShift: attr is empty: it must name a hyperparameter"},
      {[] { ext::ExponentialShift shift("lr", kInfinity); }, "ExponentialShift: rate is inf" + kNotNegative},
      {[] { ext::ExponentialShift shift("lr", 0.5, {.init = kNaN}); }, "ExponentialShift: init is nan" + kFinite},
      {[] { ext::ExponentialShift shift("lr", 0.5, {.target = kNaN}); }, "ExponentialShift: target is nan" + kFinite},
      {[] { ext::InverseShift shift("lr", 1, kNaN); }, "InverseShift: power is nan" + kFinite},
      {[] {
         ext::LinearShift shift("lr", {kNaN, 1}, {0, 1});
       },
       "LinearShift: value_range.first is nan" + kFinite},
      {[] {
         ext::LinearShift shift("lr", {0, kInfinity}, {0, 1});
       },
       "LinearShift: value_range.second is inf" + kFinite},
      {[] {
         ext::MultistepShift shift("lr", kNaN, {1, 2});
       },
       "MultistepShift: gamma is nan" + kNotNegative},
      {[] {
         ext::MultistepShift shift("", 0.1, {1, 2});
       },
       "MultistepShift: attr is empty: it must name a hyperparameter"},
      {[] { ext::PolynomialShift shift("lr", kNaN, 10); }, "PolynomialShift: rate is nan" + kFinite},
      {[] { ext::StepShift shift("lr", -0.1, 10); }, "StepShift: gamma is -0.1" + kNotNegative},
      {[] { ext::WarmupShift shift("lr", 0.1, 10, kNaN); }, "WarmupShift: init is nan" + kFinite},
      {[] { ext::CosineShift shift("lr", 10, {.final_value = kNaN}); }, "CosineShift: final_value is nan" + kFinite},
      {[] { ext::CosineShift shift("lr", 10, {.warmup_start = kNaN}); }, "CosineShift: warmup_start is nan" + kFinite},
      {[] { ext::CosineShift shift("lr", 10, {.restart_factor = -1}); },
       "CosineShift: restart_factor is -1" + kNotNegative},
      {[] { ext::OneCycleShift shift("lr", 10, {.start_ratio = kNaN}); },
       "OneCycleShift: start_ratio is nan" + kNotNegative},
      {[] { ext::OneCycleShift shift("lr", 10, {.final_ratio = -1}); },
       "OneCycleShift: final_ratio is -1" + kNotNegative},
  });
}

}  // namespace
}  // namespace kusari::misuse
