#include "kusari/updaters/standard_updater.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/transform_dataset.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/functions/loss/mean_squared_error.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/scratch_directory.h"

using namespace kusari;
using datasets::TupleDataset;
using iterators::SerialIterator;
using updaters::StandardUpdater;

namespace {

/// loss = (w x - t)^2, the mean over the batch.
class Line : public Chain {
 public:
  Line() : l{*this, "l", 1, 1, {.nobias = true, .initial_w = 0}} {}
  Variable operator()(const Variable& x, const Variable& t) { return functions::mean_squared_error(l(x), t); }
  float slope() { return l.W.item<float>(); }

  Child<L::Linear> l;
};

TupleDataset three_points() {
  return TupleDataset(array({1.0f, 2.0f, 3.0f}, {3, 1}), array({2.0f, 4.0f, 6.0f}, {3, 1}));
}

/// SGD on the batches (1), (2), (3), (1), ...: w -= lr * 2 x (w x - 2 x).
float slope_after(int steps, float lr) {
  float w = 0;
  for (int i = 0; i < steps; ++i) {
    const float x = static_cast<float>(i % 3 + 1);
    w -= lr * 2 * x * (w * x - 2 * x);
  }
  return w;
}

}  // namespace

TEST_CASE("StandardUpdater takes a step for each batch and counts") {
  Line model;
  optimizers::SGD optimizer(0.03125);
  optimizer.setup(model);
  SerialIterator iterator(three_points(), 1, {.shuffle = false});
  StandardUpdater updater(iterator, optimizer);
  CHECK(updater.iteration() == 0);
  CHECK(updater.previous_epoch_detail() == std::nullopt);
  for (int step = 1; step <= 4; ++step) {
    updater.update();
    CHECK(model.slope() == doctest::Approx(slope_after(step, 0.03125f)));
  }
  CHECK(updater.iteration() == 4);
  CHECK(updater.epoch() == 1);
  CHECK(updater.epoch_detail() == doctest::Approx(4.0 / 3));
  CHECK(updater.previous_epoch_detail() == 1.0);
  CHECK_FALSE(updater.is_new_epoch());
  CHECK(optimizer.t() == 4);
  CHECK(optimizer.epoch() == 1);  // told by the updater
  CHECK_THROWS_AS(optimizer.new_epoch(), StateError);
  CHECK(&updater.get_optimizer("main") == &optimizer);
  CHECK(&updater.get_iterator("main") == &iterator);
  CHECK_THROWS_WITH_AS(updater.get_optimizer("gen"), "StandardUpdater: there is no optimizer 'gen', only 'main'",
                       KeyError);
}

TEST_CASE("StandardUpdater owns what it is given by rvalue, and follows a model that moves") {
  auto model = std::make_unique<Line>();
  optimizers::SGD optimizer(0.03125);
  optimizer.setup(*model);
  StandardUpdater updater(SerialIterator(three_points(), 1, {.shuffle = false}), std::move(optimizer));
  updater.update();
  Line moved = std::move(*model);
  model.reset();
  updater.update();
  CHECK(moved.slope() == doctest::Approx(slope_after(2, 0.03125f)));
}

TEST_CASE("StandardUpdater's options") {
  Line model;
  optimizers::SGD optimizer(0.03125);
  optimizer.setup(model);
  SerialIterator iterator(three_points(), 3, {.shuffle = false});
  SUBCASE("loss_func") {
    StandardUpdater updater(iterator, optimizer,
                            {.device = get_device("cpu"),
                             .loss_func = [&](const Variable& x, const Variable& t) { return 2.0 * model(x, t); },
                             .auto_new_epoch = false});
    updater.update();
    CHECK(model.slope() == doctest::Approx(0.03125 * 2 * 2 * 2 * 14.0 / 3));  // -gradient: 2 * 2 mean(x^2) * 2
    CHECK(optimizer.epoch() == 0);
    optimizer.new_epoch();
  }
  SUBCASE("converter") {
    StandardUpdater updater(iterator, optimizer,
                            {.converter = [](std::span<const datasets::Example> batch, const Device& device) {
                              return datasets::concat_examples(batch.first(1), device);
                            }});
    updater.update();
    CHECK(model.slope() == doctest::Approx(slope_after(1, 0.03125f)));
  }
  SUBCASE("loss_scale") {
    StandardUpdater updater(iterator, optimizer, {.loss_scale = 8});
    CHECK(optimizer.loss_scale() == 8);
    updater.update();
    CHECK(model.slope() == doctest::Approx(0.03125 * 2 * 2 * 14.0 / 3));
  }
  SUBCASE("dynamic loss scaling") {
    StandardUpdater updater(iterator, optimizer, {.loss_scaling = LossScalingOptions{.initial_scale = 64}});
    CHECK(optimizer.loss_scale() == 64);
    updater.update();
    CHECK(model.slope() == doctest::Approx(0.03125 * 2 * 2 * 14.0 / 3));
    CHECK(optimizer.loss_scale() == 128);
    CHECK_THROWS_WITH_AS(StandardUpdater(iterator, optimizer, {.loss_scale = 8, .loss_scaling = LossScalingOptions{}}),
                         "StandardUpdater: loss_scale and loss_scaling are both given: one of them must do",
                         ValueError);
  }
  SUBCASE("a wrong number of arrays") {
    StandardUpdater updater(SerialIterator(TupleDataset(zeros({3, 1})), 1), optimizer);
    CHECK_THROWS_AS(updater.update(), TypeError);
    CHECK(updater.iteration() == 0);
  }
}

TEST_CASE("StandardUpdater refuses what cannot work") {
  optimizers::SGD without_target;
  CHECK_THROWS_AS(StandardUpdater(SerialIterator(three_points(), 1), without_target), StateError);
  Line model;
  optimizers::SGD optimizer;
  optimizer.setup(model);
  SerialIterator iterator(three_points(), 1);
  CHECK_THROWS_WITH_AS(StandardUpdater({{"other", iterator}}, {{"main", optimizer}}),
                       "StandardUpdater: there is no iterator 'main', only 'other'", KeyError);
  StandardUpdater ends(SerialIterator(three_points(), 3, {.repeat = false}), optimizer);
  ends.update();
  CHECK_THROWS_AS(ends.update(), StateError);
  StandardUpdater empty(SerialIterator(datasets::TupleDataset(zeros({0, 1}), zeros({0, 1})), 3, {.repeat = false}),
                        optimizer);
  CHECK_THROWS_WITH_AS(empty.update(),
                       "StandardUpdater: the iterator 'main' gave a batch without examples: its data set is empty",
                       ValueError);
}

TEST_CASE("StandardUpdater measures what it spends on data, and goes on after a resume") {
  const testing::ScratchDirectory dir;
  const auto wait = [](int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); };
  Line model;
  optimizers::SGD optimizer(0.03125);
  optimizer.setup(model);
  const auto make = [&](int64_t prefetch) {
    return StandardUpdater(SerialIterator(datasets::TransformDataset(three_points(),
                                                                     [&](const datasets::Example& in) {
                                                                       wait(20);
                                                                       return in;
                                                                     }),
                                          1),
                           optimizer,
                           {.loss_func =
                                [&](const Variable& x, const Variable& t) {
                                  wait(10);
                                  return model(x, t);
                                },
                            .prefetch = prefetch});
  };
  for (const int64_t prefetch : {0, 1}) {
    auto updater = make(prefetch);
    CHECK(updater.step_times().iterations == 0);
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 3; ++i) updater.update();
    const std::chrono::duration<double> all = std::chrono::steady_clock::now() - begin;
    const auto times = updater.step_times();
    CHECK(times.iterations == 3);
    CHECK(times.data >= 3 * 0.020);
    CHECK(times.compute >= 3 * 0.010);
    CHECK(times.data + times.compute <= all.count());  // nothing counts twice
    serializers::save_npz(dir / "updater", updater);
    auto resumed = make(prefetch);
    serializers::load_npz(dir / "updater", resumed);
    CHECK(resumed.step_times().data == times.data);
    resumed.update();
    CHECK(resumed.step_times().iterations == 4);
    CHECK(resumed.step_times().since(times).data >= 0.020);
  }
}

TEST_CASE("an updater of one's own has several optimizers") {
  struct Both final : StandardUpdater {
    using StandardUpdater::StandardUpdater;
    void update_core() override {
      const auto batch = convert(get_iterator("main").next());
      for (const char* name : {"a", "b"}) {
        Optimizer& optimizer = get_optimizer(name);
        optimizer.update([&] { return optimizer.call_target(std::span<const Variable>(batch.data(), batch.size())); });
      }
    }
  };
  Line a, b;
  optimizers::SGD slow(0.03125), fast(0.0625);
  slow.setup(a);
  fast.setup(b);
  SerialIterator iterator(three_points(), 1, {.shuffle = false});
  Both updater({{"main", iterator}}, {{"a", slow}, {"b", fast}});
  updater.update();
  CHECK(a.slope() == doctest::Approx(slope_after(1, 0.03125f)));
  CHECK(b.slope() == doctest::Approx(slope_after(1, 0.0625f)));
  CHECK(updater.get_all_optimizers().size() == 2);
}

TEST_CASE("StandardUpdater in a file has Chainer's entries, and resumes with another learning rate's optimizer") {
  const testing::ScratchDirectory dir;
  const auto make = [](Line& model, optimizers::MomentumSGD& optimizer) {
    optimizer.setup(model);
    return StandardUpdater(SerialIterator(three_points(), 2), optimizer);
  };
  Line model, other;
  optimizers::MomentumSGD optimizer(0.03125), fresh(0.5);
  auto updater = make(model, optimizer);
  auto resumed = make(other, fresh);
  for (int i = 0; i < 2; ++i) updater.update();
  serializers::save_npz(dir / "updater", updater);
  const serializers::NpzReader npz(dir / "updater");
  for (const char* key : {"iterator:main/current_position", "iterator:main/order", "model:main/l/W", "optimizer:main/t",
                          "optimizer:main/l/W/v", "iteration"}) {
    CAPTURE(key);
    CHECK(npz.contains(key));
  }
  serializers::load_npz(dir / "updater", resumed);
  CHECK(resumed.iteration() == 2);
  CHECK(fresh.lr == 0.03125);
  updater.update();
  resumed.update();
  CHECK(other.slope() == model.slope());
}
