#include "kusari/framework/amp/to_fp16.h"

#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/tests/amp/small_net.h"

namespace kusari::testing {
namespace {

using Values = std::vector<double>;

TEST_CASE("a 16-bit model with float32 normalizations") {
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16}) {
    CAPTURE(name(dtype));
    SmallNet model;
    model.to(test_device());
    CHECK(&amp::to_fp16(model, dtype) == &model);
    CHECK(model.bn.gamma.dtype() == Dtype::float32);
    CHECK(model.l2.W.dtype() == dtype);
    const Variable y = model(F::cast(Variable(images(), false), dtype));  // gives conv.W its shape
    CHECK(y.dtype() == dtype);
    CHECK(model.conv.W.dtype() == dtype);
    CHECK(model.bn.avg_var.dtype() == Dtype::float32);
    F::sum(y).backward();
    CHECK(model.conv.W.grad().dtype() == dtype);
    CHECK(model.bn.beta.grad().dtype() == Dtype::float32);
  }
  SmallNet model;
  CHECK_THROWS_WITH_AS(amp::to_fp16(model, Dtype::float32),
                       "amp::to_fp16: dtype is float32: it must be float16 or bfloat16", ValueError);
}

TEST_CASE("a model with gradients and an optimizer becomes a 16-bit one") {
  SmallNet model;
  model.to(test_device());
  optimizers::MomentumSGD optimizer(0.01);
  optimizer.setup(model);
  optimizer.use_fp32_update();
  optimizer.set_loss_scale(128);
  optimizer.update([&] { return loss_of(model, images()); });
  const Values before = model.l2.W.to_vector<double>();
  amp::to_fp16(model);
  CHECK(!model.l2.W.grad().is_defined());
  for (int i = 0; i < 2; ++i) {
    optimizer.update([&] { return loss_of(model, images().astype(Dtype::float16)); });
  }
  CHECK(optimizer.t() == 3);
  CHECK(model.l2.W.update_rule().state("fp32_param").dtype() == Dtype::float32);
  CHECK(model.l2.W.update_rule().state("v").dtype() == Dtype::float32);
  CHECK(model.l2.W.dtype() == Dtype::float16);
  CHECK(model.l2.W.to_vector<double>() != before);
}

TEST_CASE("config.dtype gives it batches") {
  const auto half = using_config(&Config::dtype, mixed16);
  SmallNet model;
  CHECK(model.conv.b.dtype() == Dtype::float16);
  CHECK(model.bn.gamma.dtype() == Dtype::float32);
}

TEST_CASE("master parameters by hand train as float32 does") {
  const Values expected = train_float32(10);
  SmallNet model;
  model.to(test_device());
  model(Variable(images(), false));
  amp::to_fp16(model);
  auto [model_params, master_params] = amp::prep_param_lists(model);
  REQUIRE(model_params.size() == master_params.size());
  CHECK(model_params == model.params());
  for (size_t i = 0; i < model_params.size(); ++i) {
    CHECK(master_params[i].dtype() == Dtype::float32);
    CHECK(master_params[i].to_vector<double>() == model_params[i]->to_vector<double>());
    CHECK(master_params[i].name() == model_params[i]->name());
  }
  CHECK(master_params.namedparams()[1].first == "/1/value");

  optimizers::MomentumSGD optimizer(0.05);
  optimizer.setup(master_params);
  std::vector<double> losses;
  for (int i = 0; i < 10; ++i) {
    const Variable loss = loss_of(model, images().astype(Dtype::float16));
    losses.push_back(loss.item<double>());
    model.cleargrads();
    loss.backward({.loss_scale = 64});
    amp::model_grads_to_master_grads(model_params, master_params);
    CHECK(master_params[0].grad().dtype() == Dtype::float32);
    CHECK(master_params[0].loss_scale() == 64);
    optimizer.update();
    amp::master_params_to_model_params(model_params, master_params);
  }
  check_same_training(losses, expected);
  for (size_t i = 0; i < model_params.size(); ++i) {
    const Parameter& original = *model_params[i];
    CHECK(original.to_vector<double>() == master_params[i].array().astype(original.dtype()).to_vector<double>());
  }
}

TEST_CASE("small steps add up in master parameters") {
  L::Linear model(1, 1, {.nobias = true, .initial_w = 1});
  amp::to_fp16(model);
  auto [model_params, master_params] = amp::prep_param_lists(model);
  optimizers::MomentumSGD optimizer(0x1p-12, 0);  // half of what float16 can tell from 1
  optimizer.setup(master_params);
  for (int i = 0; i < 8; ++i) {
    model.cleargrads();
    model.W.set_grad(ones({1, 1}, Dtype::float16));
    amp::model_grads_to_master_grads(model_params, master_params);
    optimizer.update();
    amp::master_params_to_model_params(model_params, master_params);
  }
  CHECK(model.W.item<double>() == 1 - 8 * 0x1p-12);
  model.cleargrads();
  amp::model_grads_to_master_grads(model_params, master_params);
  CHECK(!master_params[0].grad().is_defined());
}

TEST_CASE("lists that do not match, and parameters without a shape, are refused") {
  SmallNet model;
  CHECK_THROWS_WITH_AS(amp::prep_param_lists(model),
                       "amp::prep_param_lists: /conv/W has no shape yet; call the model once before", StateError);
  L::Linear a(2, 3), b(3, 2, {.nobias = true}), c(3, 2);
  amp::ParamLists lists = amp::prep_param_lists(a);
  CHECK_THROWS_WITH_AS(amp::model_grads_to_master_grads(b.params(), lists.master_params),
                       "amp::model_grads_to_master_grads: there are 1 model_params but 2 master_params", ValueError);
  CHECK_THROWS_WITH_AS(amp::master_params_to_model_params(c.params(), lists.master_params),
                       "amp::master_params_to_model_params: model_params[0] has shape (2, 3) but master_params[0] has "
                       "(3, 2)",
                       ValueError);
}

}  // namespace
}  // namespace kusari::testing
