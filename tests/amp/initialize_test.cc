#include "kusari/framework/amp/initialize.h"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/amp/autocast.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/loss_scale.h"
#include "kusari/optimizers/optimizer_access.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/amp/small_net.h"

namespace kusari::testing {
namespace {

using Values = std::vector<double>;

struct Training {
  Training() {
    model.to(test_device());
    optimizer.setup(model);
  }
  Variable loss() { return loss_of(model, images()); }
  bool has_masters() { return model.l2.W.update_rule().state("fp32_param").is_defined(); }
  /// apex's three lines.
  double step() {
    const Variable now = loss();
    model.cleargrads();
    amp::scale_loss(now, optimizer).backward();
    optimizer.update();
    return now.item<double>();
  }

  SmallNet model;
  optimizers::MomentumSGD optimizer{0.05};
};

TEST_CASE("the levels set up what apex sets up") {
  struct Case {
    const char* level;
    Dtype parameters, normalizations, output;
    bool autocast, masters, dynamic;
  };
  constexpr Dtype kHalf = Dtype::float16, kSingle = Dtype::float32;
  for (const Case& c : {Case{"O0", kSingle, kSingle, kSingle, false, false, false},
                        {"O1", kSingle, kSingle, kHalf, true, false, true},
                        {"O2", kHalf, kSingle, kHalf, true, true, true},
                        {"O3", kHalf, kHalf, kHalf, true, false, false}}) {
    CAPTURE(std::string(c.level));
    Training training;
    {
      const amp::Session session = amp::initialize(training.model, training.optimizer, c.level);
      CHECK(amp::is_autocast_enabled() == c.autocast);
      CHECK(training.model(images()).dtype() == c.output);
      CHECK(training.loss().dtype() == kSingle);
      training.step();
    }
    CHECK_FALSE(amp::is_autocast_enabled());
    for (const Parameter* parameter : {static_cast<Parameter*>(&training.model.conv.W), &training.model.l2.W}) {
      CHECK(parameter->dtype() == c.parameters);
      CHECK(parameter->grad().dtype() == c.parameters);
    }
    CHECK(training.model.bn.gamma.dtype() == c.normalizations);
    CHECK(training.model.bn.avg_mean.dtype() == c.normalizations);
    CHECK(training.has_masters() == c.masters);
    CHECK(training.optimizer.has_loss_scaling() == c.dynamic);
    CHECK(training.optimizer.loss_scale() == (c.dynamic ? 65536 : 1));
  }
}

TEST_CASE("every level trains as float32 does") {
  const Values expected = train_float32(10);
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16}) {
    for (const std::string level : {"O0", "O1", "O2", "O3"}) {
      for (const bool updates_itself : {false, true}) {
        CAPTURE(name(dtype));
        CAPTURE(level);
        CAPTURE(updates_itself);
        Training training;
        const auto session = amp::initialize(training.model, training.optimizer, level, {.dtype = dtype});
        CHECK(training.optimizer.has_loss_scaling() == (dtype == Dtype::float16 && (level == "O1" || level == "O2")));
        Values losses;
        while (losses.size() < expected.size()) {
          if (!updates_itself) {
            losses.push_back(training.step());
            continue;
          }
          training.optimizer.update([&] {
            const Variable loss = training.loss();
            losses.push_back(loss.item<double>());
            return loss;
          });
        }
        CHECK(training.optimizer.skipped_steps() == 0);
        check_same_training(losses, expected, dtype == Dtype::float16 ? 0.02 : 0.1);
      }
    }
  }
}

TEST_CASE("overrides") {
  const auto initialize = [](Training& training, const char* level, const amp::InitializeOptions& options) {
    const auto session = amp::initialize(training.model, training.optimizer, level, options);
    training.step();
  };
  SUBCASE("O3 with float32 normalizations") {
    Training training;
    initialize(training, "O3", {.keep_batchnorm_fp32 = true});
    CHECK(training.model.bn.gamma.dtype() == Dtype::float32);
    CHECK(training.model.conv.W.dtype() == Dtype::float16);
  }
  SUBCASE("O2 with 16-bit normalizations, without masters and with a fixed scale") {
    Training training;
    initialize(training, "O2", {.keep_batchnorm_fp32 = false, .master_weights = false, .loss_scale = 128});
    CHECK(training.model.bn.gamma.dtype() == Dtype::float16);
    CHECK_FALSE(training.has_masters());
    CHECK(training.optimizer.loss_scale() == 128);
  }
  SUBCASE("loss scales") {
    const auto scale = [&](const char* level, const amp::LossScaleChoice& choice) {
      Training training;
      initialize(training, level, {.loss_scale = choice});
      return training.optimizer.loss_scale();
    };
    CHECK(scale("O0", "dynamic") == 65536);
    CHECK(scale("O1", "64.5") == 64.5);
    CHECK(scale("O1", 1) == 1);
    CHECK(scale("O3", std::string_view("dynamic")) == 65536);
  }
  SUBCASE("bounds of a dynamic loss scale") {
    const auto scale = [&](const amp::InitializeOptions& options, bool overflows) {
      Training training;
      const auto session = amp::initialize(training.model, training.optimizer, "O1", options);
      if (!overflows) {
        LossScale& state = *detail::OptimizerAccess::loss_scale(training.optimizer);
        kernels::LossScaleState soon = state.state();
        soon.growth_tracker = 1999;
        state.set_state(soon);
      } else {
        training.model.l2.b.array().fill(std::numeric_limits<double>::infinity());
      }
      training.step();
      return training.optimizer.loss_scale();
    };
    CHECK(scale({}, false) == 131072);
    CHECK(scale({}, true) == 32768);
    CHECK(scale({.max_loss_scale = 65536}, false) == 65536);
    CHECK(scale({.max_loss_scale = 512}, false) == 512);
    CHECK(scale({.min_loss_scale = 65536}, true) == 65536);
    CHECK(scale({.min_loss_scale = 0x1p20}, true) == 0x1p20);
    Training training;
    initialize(training, "O1", {});
    CHECK(detail::OptimizerAccess::loss_scale(training.optimizer)->rule().max == 0x1p24);
  }
  SUBCASE("O1 without conversions, O2 without a 16-bit model") {
    Training training, other;
    initialize(training, "O1", {.patch_functions = false});
    CHECK(training.model.l1.W.dtype() == Dtype::float32);
    const auto session = amp::initialize(other.model, other.optimizer, "O2", {.cast_model = false});
    CHECK(other.model(images()).dtype() == Dtype::float32);
  }
  SUBCASE("not enabled") {
    Training training;
    const auto session = amp::initialize(training.model, training.optimizer, "O2", {.enabled = false});
    CHECK(training.model(images()).dtype() == Dtype::float32);
    CHECK_FALSE(training.optimizer.has_loss_scaling());
    training.step();
  }
}

TEST_CASE("contradictions are refused, and change nothing") {
  Training training;
  const auto refused = [&](const char* level, const amp::InitializeOptions& options, const char* what) {
    CHECK_THROWS_WITH_AS(static_cast<void>(amp::initialize(training.model, training.optimizer, level, options)), what,
                         ValueError);
  };
  refused("02", {},
          "amp::initialize: opt_level is '02' but must be O0, O1, O2 or O3 (the letter O, not the number zero)");
  refused("O1", {.cast_model = true},
          "amp::initialize: cast_model is true but O1 converts the inputs of functions and leaves the model in "
          "float32; use O2 or O3");
  refused("O2", {.patch_functions = true},
          "amp::initialize: patch_functions is true but only O1 may convert inputs; use O1");
  refused("O1", {.keep_batchnorm_fp32 = true},
          "amp::initialize: keep_batchnorm_fp32 is true but with O1 normalizations always stay in float32; do not set "
          "it");
  refused("O1", {.master_weights = false},
          "amp::initialize: master_weights is false but with O1 the parameters themselves are float32; do not set it");
  refused("O1", {.min_loss_scale = 8, .max_loss_scale = 4},
          "amp::initialize: min_loss_scale is 8 and max_loss_scale is 4 but they must be positive and in this order");
  refused("O1", {.min_loss_scale = -1},
          "amp::initialize: min_loss_scale is -1 and max_loss_scale is 1.67772e+07 but they must be positive and in "
          "this order");
  refused("O2", {.dtype = Dtype::float32}, "amp::initialize: dtype is float32: it must be float16 or bfloat16");
  CHECK_THROWS_AS(amp::LossScaleChoice(0.0), ValueError);
  CHECK_THROWS_AS(amp::LossScaleChoice(-2), ValueError);
  CHECK_THROWS_AS(amp::LossScaleChoice{std::numeric_limits<double>::infinity()}, ValueError);
  CHECK_THROWS_AS(amp::LossScaleChoice("-2"), ValueError);
  CHECK_THROWS_WITH_AS(amp::LossScaleChoice("auto"),
                       "amp::LossScaleChoice: text is 'auto' but must be 'dynamic' or a number", ValueError);
  CHECK_THROWS_AS(amp::LossScaleChoice("12x"), ValueError);
  CHECK(training.model.l2.W.dtype() == Dtype::float32);
  CHECK_FALSE(training.optimizer.has_loss_scaling());
  CHECK_FALSE(amp::is_autocast_enabled());

  optimizers::SGD without_target;
  CHECK_THROWS_WITH_AS(static_cast<void>(amp::initialize(training.model, without_target)),
                       "amp::initialize: this SGD has no target; call optimizer.setup(model) first", StateError);
  {
    const auto session = amp::initialize(training.model, training.optimizer);
    CHECK_THROWS_WITH_AS(static_cast<void>(amp::initialize(training.model, training.optimizer)),
                         "amp::initialize: this MomentumSGD scales the loss already; call its no_loss_scaling() first, "
                         "and initialize() once",
                         StateError);
  }
  Training half;
  half.model.to(Dtype::float16);
  CHECK_THROWS_WITH_AS(static_cast<void>(amp::initialize(half.model, half.optimizer, "O2")),
                       "amp::initialize: parameter /conv/b is float16 but must be float32; initialize converts the "
                       "model itself",
                       TypeError);
}

/// One number with gradient x.
class Single : public Chain {
 public:
  explicit Single(double value = 0) : w{*this, "w", full({}, value, Dtype::float32, test_device())} {}
  Variable loss(double x) { return w * x; }
  double value() const { return w.item<double>(); }

  Parameter w;
};

TEST_CASE("several losses of several optimizers, as in apex's example") {
  for (const std::string level : {"O0", "O1"}) {
    CAPTURE(level);
    Single a, b;
    optimizers::SGD optimizer_a(1), optimizer_b(1);
    optimizer_a.setup(a);
    optimizer_b.setup(b);
    const auto session = amp::initialize({&a, &b}, {&optimizer_a, &optimizer_b}, level);
    double expected_a = 0, expected_b = 0;
    for (int i = 0; i < 6; ++i) {
      a.cleargrads();
      b.cleargrads();
      const bool overflows = i == 2;
      amp::scale_loss(a.loss(overflows ? std::numeric_limits<double>::infinity() : 2), optimizer_a).backward();
      amp::scale_loss(b.loss(8), optimizer_b).backward();
      amp::scale_loss(a.loss(1) + b.loss(1), {&optimizer_a, &optimizer_b}).backward();
      amp::scale_loss(a.loss(4), optimizer_a).backward();
      optimizer_a.update();
      optimizer_b.update();
      if (level == "O0" && overflows) break;
      if (!overflows) expected_a -= 7;
      expected_b -= 9;
      CHECK(a.value() == expected_a);
      CHECK(b.value() == expected_b);
      const bool scales = level == "O1";
      CHECK(optimizer_a.loss_scale() == (!scales ? 1 : i < 2 ? 65536 : 32768));
      CHECK(optimizer_b.loss_scale() == (scales ? 65536 : 1));
    }
  }
}

TEST_CASE("an adversarial pair: one backward reaches both models") {
  Single generator(1), critic(1);
  optimizers::SGD of_generator(0.5), of_critic(0.25);
  of_generator.setup(generator);
  of_critic.setup(critic);
  const auto session = amp::initialize({&generator, &critic}, {&of_generator, &of_critic}, "O1", {.loss_scale = 8});
  double g = 1, c = 1;
  for (int i = 0; i < 4; ++i) {
    generator.cleargrads();
    amp::scale_loss(generator.w * critic.w, of_generator).backward();
    of_generator.update();
    g -= 0.5 * c;
    critic.cleargrads();
    amp::scale_loss(-(generator.w * critic.w), of_critic).backward();
    of_critic.update();
    c += 0.25 * g;
    CHECK(generator.value() == doctest::Approx(g));
    CHECK(critic.value() == doctest::Approx(c));
  }
}

TEST_CASE("without loss scaling a scaled loss is the loss") {
  Single model;
  optimizers::SGD optimizer(1);
  optimizer.setup(model);
  const auto session = amp::initialize(model, optimizer, "O0");
  model.cleargrads();
  const Variable loss = model.loss(3);
  const amp::ScaledLoss scaled = amp::scale_loss(loss, optimizer);
  CHECK(is_same(scaled.loss(), loss));
  scaled.backward();
  CHECK(model.w.grad().item<double>() == 3);
  CHECK_FALSE(model.w.device_loss_scale().is_defined());
}

TEST_CASE("a small gradient in a 16-bit model reaches the masters") {
  L::Linear model(1, 1, {.nobias = true, .initial_w = 0});
  model.to(test_device());
  optimizers::SGD optimizer(1);
  optimizer.setup(model);
  const auto session = amp::initialize(model, optimizer, "O2");
  for (const bool scales : {false, true}) {
    model.cleargrads();
    const Variable y = F::cast(model(Variable(ones({1, 1}, Dtype::float32, test_device()), false)), Dtype::float32);
    const Variable loss = F::sum(y) * 0x1p-26;
    if (scales) {
      amp::scale_loss(loss, optimizer).backward();
    } else {
      loss.backward();
    }
    optimizer.update();
    CHECK(model.W.update_rule().state("fp32_param").item<double>() == (scales ? -0x1p-26 : 0));
  }
}

TEST_CASE("float32 beside a 16-bit model") {
  Training training;
  const auto session = amp::initialize(training.model, training.optimizer, "O2");
  const Variable x(images(), false);
  const Variable y = training.model(x);
  CHECK(y.dtype() == Dtype::float16);
  CHECK((y + F::cast(y, Dtype::float32)).dtype() == Dtype::float32);
  CHECK((training.loss() + F::sum(training.model.l2.W * training.model.l2.W) * 1e-4).dtype() == Dtype::float32);
}

TEST_CASE("sessions nest, move and hold on their thread alone") {
  Training training, other;
  auto session = std::make_unique<amp::Session>(amp::initialize(training.model, training.optimizer, "O1"));
  {
    const auto inner = amp::initialize(other.model, other.optimizer, "O2");
    CHECK(other.model(images()).dtype() == Dtype::float16);
  }
  CHECK(amp::is_autocast_enabled());
  amp::Session moved(std::move(*session));
  session.reset();
  CHECK(amp::is_autocast_enabled());
  std::thread([] { CHECK_FALSE(amp::is_autocast_enabled()); }).join();
  amp::Session ended(std::move(moved));
  CHECK(amp::is_autocast_enabled());
}

#ifndef __SANITIZE_ADDRESS__  // what such a session holds stays for ever
TEST_CASE("a session that ends on another thread leaves that thread alone") {
  Training training;
  std::thread([&] {
    auto session = std::make_unique<amp::Session>(amp::initialize(training.model, training.optimizer, "O1"));
    std::thread([&] {
      const amp::Autocast own({.dtype = Dtype::bfloat16});
      session.reset();
      CHECK(amp::is_autocast_enabled());
    }).join();
    CHECK(amp::is_autocast_enabled());
  }).join();
}
#endif

}  // namespace
}  // namespace kusari::testing
