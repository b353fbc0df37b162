#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/kusari.h"
#include "kusari/tests/links/models.h"

// Hyperparameters by name and in Chainer's order.
namespace kusari::testing {
namespace {

namespace O = optimizers;
namespace H = optimizer_hooks;
namespace I = initializers;
namespace E = training::extensions;

TEST_CASE("optimizers take hyperparameters by name") {
  CHECK(O::SGD({.lr = 0.5}).lr == 0.5);
  CHECK(O::SGD().lr == 0.01);
  CHECK(O::SGD(0.5).lr == 0.5);
  const O::MomentumSGD momentum({.lr = 0.05, .momentum = 0.8}), rest({.momentum = 0.5}), positional(0.05, 0.8);
  CHECK(momentum.lr == positional.lr);
  CHECK(momentum.momentum == positional.momentum);
  CHECK(rest.lr == O::MomentumSGD().lr);
  CHECK(rest.momentum == 0.5);
  CHECK(O::CorrectedMomentumSGD({.lr = 0.05, .momentum = 0.8}).momentum == O::CorrectedMomentumSGD(0.05, 0.8).momentum);
  CHECK(O::NesterovAG({.lr = 0.05, .momentum = 0.8}).momentum == O::NesterovAG(0.05, 0.8).momentum);
  CHECK(O::AdaDelta({.rho = 0.5, .eps = 1e-3}).rho == O::AdaDelta(0.5, 1e-3).rho);
  CHECK(O::AdaGrad({.lr = 0.5, .eps = 1e-3}).eps == O::AdaGrad(0.5, 1e-3).eps);
  CHECK(O::SMORMS3({.lr = 0.5, .eps = 1e-3}).lr == O::SMORMS3(0.5, 1e-3).lr);
  CHECK(O::RMSprop({.lr = 0.5}).lr == O::RMSprop(0.5).lr);
  CHECK(O::RMSpropGraves({.lr = 0.5, .momentum = 0.1}).momentum == 0.1);
  CHECK(O::Adam({.alpha = 0.5}).alpha == 0.5);
  CHECK(O::Adam(0.5).alpha == 0.5);
  CHECK(O::AdamW(0.5).alpha == 0.5);
  CHECK((O::AMSGrad(0.5).alpha == 0.5 && O::AMSGrad(0.5).amsgrad));
  CHECK((O::AdaBound(0.5).alpha == 0.5 && O::AdaBound(0.5).adabound));
  CHECK((O::AMSBound(0.5).alpha == 0.5 && O::AMSBound(0.5).adabound));
  CHECK(O::DecoupledAdamW(0.5).lr == 0.5);
  CHECK(O::LAMB(0.5).lr == 0.5);
  CHECK(O::LARS(0.5).lr == 0.5);
  CHECK(O::MSVAG(0.5).lr == 0.5);
  CHECK(O::Lion(0.5).lr == 0.5);
  CHECK(O::RAdam(0.5).lr == 0.5);
  CHECK(O::NAdam(0.5).lr == 0.5);
  TwoLayers model(3);
  O::MomentumSGD bad({.lr = 0.1, .momentum = -1});
  CHECK_THROWS_WITH_AS(bad.setup(model), "MomentumSGD: momentum is -1: it must be finite and not negative", ValueError);
}

TEST_CASE("hooks take options by name") {
  CHECK(H::WeightDecay({.rate = 0.1}).rate == H::WeightDecay(0.1).rate);
  CHECK(H::Lasso({.rate = 0.1}).rate == H::Lasso(0.1).rate);
  CHECK(H::GradientClipping({.threshold = 2}).threshold == H::GradientClipping(2).threshold);
  const H::GradientHardClipping clipping({.lower_bound = -1, .upper_bound = 2}), same(-1, 2);
  CHECK(clipping.lower_bound == same.lower_bound);
  CHECK(clipping.upper_bound == same.upper_bound);
  CHECK(H::GradientNoise({.eta = 0.3}).eta == H::GradientNoise(0.3).eta);
  CHECK_THROWS_WITH_AS(H::WeightDecay({.rate = -1}), "WeightDecay: rate is -1: it must be finite and not negative",
                       ValueError);
  CHECK_THROWS_AS(H::WeightDecay(H::WeightDecayOptions{}), ValueError);  // a rate is required
  CHECK_THROWS_AS(H::GradientClipping(H::GradientClippingOptions{}), ValueError);
  CHECK_THROWS_AS(H::GradientHardClipping({.lower_bound = 1, .upper_bound = 0}), ValueError);
  CHECK_THROWS_AS(H::GradientHardClipping(H::GradientHardClippingOptions{.lower_bound = 1}), ValueError);
  CHECK_THROWS_AS(H::GradientNoise({.eta = -1}), ValueError);
  TwoLayers model(3);
  O::SGD optimizer({.lr = 1});
  optimizer.setup(model);
  optimizer.add_hook(H::WeightDecay({.rate = 0.5}));
  model.cleargrads();
  const float before = model.l1.W.to_vector<float>()[0];
  optimizer.update();
  CHECK(model.l1.W.to_vector<float>()[0] == doctest::Approx(before / 2));
}

TEST_CASE("initializers take options by name") {
  CHECK(I::Normal({.scale = 2}).scale == I::Normal(2).scale);
  CHECK(I::Uniform({.scale = 2}).scale == I::Uniform(2).scale);
  CHECK(I::Normal().scale == 0.05);
  CHECK(I::HeNormal({.scale = 2, .fan_option = I::FanOption::fan_out}).fan_option == I::FanOption::fan_out);
  CHECK(I::HeUniform({.scale = 2}).scale == 2);
  CHECK(I::GlorotNormal({.scale = 2}).scale == 2);
  CHECK(I::GlorotUniform({.dtype = Dtype::float64}).dtype == Dtype::float64);
  CHECK(I::LeCunNormal({.scale = 2}).scale == 2);
  CHECK(I::LeCunUniform({.scale = 2}).scale == 2);
  CHECK(I::Identity({.scale = 2}).scale == 2);
  CHECK(I::Orthogonal({.mode = I::OrthogonalMode::basis}).mode == I::OrthogonalMode::basis);
  const L::Linear link(3, 2, {.initial_w = I::Constant({.fill_value = 3, .dtype = Dtype::float64})});
  CHECK(link.W.dtype() == Dtype::float64);
  CHECK(link.W.to_vector<double>()[0] == 3);
}

TEST_CASE("shifts of hyperparameters and triggers take options by name") {
  E::StepShift("lr", {.gamma = 0.1, .step = 30});
  E::ExponentialShift("lr", {.rate = 0.5, .target = 1e-4});
  E::InverseShift("lr", {.gamma = 1e-4, .power = 0.75});
  E::MultistepShift("lr", {.gamma = 0.1, .step_value = {30, 60}});
  E::PolynomialShift("lr", {.rate = 1, .max_count = 100});
  E::LinearShift("lr", {.value_range = {1, 0}, .time_range = {0, 100}});
  E::WarmupShift("lr", {.warmup_iter = 100, .init = 0.1});
  CHECK_THROWS_AS(E::StepShift("lr", {.gamma = 0.1}), ValueError);
  CHECK_THROWS_AS(E::StepShift("lr", {.step = 30}), ValueError);
  CHECK_THROWS_AS(E::ExponentialShift("lr", {.init = 1.0}), ValueError);
  CHECK_THROWS_AS(E::LinearShift("lr", {.time_range = {0, 100}}), ValueError);
  CHECK_THROWS_AS(E::WarmupShift("lr", {.warmup_iter = 100}), ValueError);
  CHECK(!training::triggers::OnceTrigger({.call_on_resume = true}).finished());
}

}  // namespace
}  // namespace kusari::testing
