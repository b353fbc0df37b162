#include "kusari/framework/amp/auto_mixed_precision.h"

#include <limits>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/amp/autocast.h"
#include "kusari/framework/autograd/function_hook.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/amp/small_net.h"

namespace kusari::testing {
namespace {

using Names = std::set<std::string>;

/// Collects the names of functions with a 16-bit output.
class HalfFunctions : public FunctionHook {
 public:
  void forward_postprocess(const FunctionNode& function, const ArrayRefs&, const Arrays& out) override {
    if (is_half(out[0].dtype())) names.insert(function.name());
  }
  Names names;
};

TEST_CASE("one line makes an optimizer train in mixed precision") {
  const std::vector<double> expected = train_float32(10);
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16}) {
    CAPTURE(name(dtype));
    SmallNet model;
    model.to(test_device());
    optimizers::MomentumSGD optimizer(0.05);
    optimizer.setup(model);
    amp::auto_mixed_precision(optimizer, {.dtype = dtype});
    CHECK(optimizer.loss_scale() == (dtype == Dtype::float16 ? 32768 : 1));
    std::vector<double> losses;
    for (int i = 0; i < 10; ++i) {
      optimizer.update([&] {
        CHECK(amp::is_autocast_enabled());
        CHECK(model(images()).dtype() == dtype);
        const Variable loss = loss_of(model, images());
        CHECK(loss.dtype() == Dtype::float32);
        losses.push_back(loss.item<double>());
        return loss;
      });
      CHECK_FALSE(amp::is_autocast_enabled());
    }
    CHECK(model.conv.W.dtype() == Dtype::float32);
    CHECK(model.conv.W.grad().dtype() == Dtype::float32);
    CHECK(optimizer.skipped_steps() == 0);
    check_same_training(losses, expected, dtype == Dtype::float16 ? 0.02 : 0.1);
  }
}

TEST_CASE("functions run in 16 bits as TensorFlow's rewrite decides") {
  SmallNet model;
  model.to(test_device());
  optimizers::SGD optimizer(0.1);
  optimizer.setup(model);
  amp::auto_mixed_precision(optimizer);
  HalfFunctions hook;
  optimizer.update([&] {
    const ScopedFunctionHook scope(hook);
    return loss_of(model, images());
  });
  for (const char* const function : {"convolution_2d", "batch_normalization_relu", "linear", "relu"}) {
    CAPTURE(std::string(function));
    CHECK(hook.names.contains(function));
  }
  CHECK_FALSE(hook.names.contains("softmax_cross_entropy"));
}

TEST_CASE("the scale doubles and halves, and an overflow changes nothing else") {
  SmallNet model;
  model.to(test_device());
  optimizers::SGD optimizer(0.01);
  optimizer.setup(model);
  amp::auto_mixed_precision(optimizer, {.initial_scale = 1024, .growth_interval = 2});
  const auto update = [&](double factor) { optimizer.update([&] { return loss_of(model, images()) * factor; }); };
  for (int i = 0; i < 4; ++i) update(1);
  CHECK(optimizer.loss_scale() == 4096);
  const std::vector<double> before = model.l2.W.to_vector<double>();
  update(std::numeric_limits<double>::infinity());
  CHECK(optimizer.loss_scale() == 2048);
  CHECK(model.l2.W.to_vector<double>() == before);
  CHECK(optimizer.t() == 4);
  CHECK(optimizer.skipped_steps() == 1);
  update(1);
  CHECK(model.l2.W.to_vector<double>() != before);
}

TEST_CASE("what makes no sense is refused") {
  SmallNet model;
  optimizers::SGD optimizer(0.01);
  optimizer.setup(model);
  CHECK_THROWS_WITH_AS(amp::auto_mixed_precision(optimizer, {.dtype = Dtype::float64}),
                       "amp::auto_mixed_precision: dtype is float64: it must be float16 or bfloat16", ValueError);
  CHECK_THROWS_AS(amp::auto_mixed_precision(optimizer, {.growth_interval = 0}), ValueError);
  CHECK_FALSE(optimizer.has_loss_scaling());
  optimizer.set_loss_scale(4);
  CHECK_THROWS_WITH_AS(amp::auto_mixed_precision(optimizer),
                       "amp::auto_mixed_precision: this SGD scales the loss already; call its no_loss_scaling() first",
                       StateError);
}

}  // namespace
}  // namespace kusari::testing
