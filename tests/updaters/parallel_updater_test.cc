#include "kusari/updaters/parallel_updater.h"

#include <atomic>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/amp/autocast.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/philox.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/core/reporter.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/loss/mean_squared_error.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/noise/dropout.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/model/classifier.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/training/extensions/log_report.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/no_threads.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari::testing {
namespace {

namespace F = functions;
namespace L = links;
using datasets::TupleDataset;
using iterators::SerialIterator;
using updaters::NamedDevices;
using updaters::ParallelUpdater;
using updaters::ParallelUpdaterOptions;
using updaters::StandardUpdater;

NamedDevices cpus(size_t n) {
  NamedDevices devices{{"main", Device()}};
  for (size_t i = 1; i < n; ++i) devices.emplace_back("replica" + std::to_string(i), Device());
  return devices;
}

Array numbers(const Shape& shape, uint64_t seed) {
  std::vector<float> values(static_cast<size_t>(numel(shape)));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(philox_word(seed, i)) * 0x1p-31f - 1;
  }
  return array(values, shape);
}

Array classes(int64_t n, int32_t count) {
  std::vector<int32_t> values(static_cast<size_t>(n));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<int32_t>(philox_word(9, i) % static_cast<uint32_t>(count));
  return array(values, {n});
}

/// loss = (w x - t)^2, the mean over the batch. Says what it saw.
class ReplicaLine : public Chain {
 public:
  ReplicaLine() : l{*this, "l", 1, 1, {.nobias = true, .initial_w = 0}} {}
  Variable operator()(const Variable& x, const Variable& t) {
    seen = x.to_vector<float>();
    const Variable loss = F::mean_squared_error(l(x), t);
    report({{"loss", loss}, {"examples", x.shape(0)}}, *this);
    return loss;
  }
  float slope() { return l.W.item<float>(); }

  Child<L::Linear> l;
  std::vector<float> seen;
};

TupleDataset replica_points(int64_t n) {
  std::vector<float> x, t;
  for (int64_t i = 1; i <= n; ++i) {
    x.push_back(static_cast<float>(i));
    t.push_back(static_cast<float>(2 * i));
  }
  return TupleDataset(array(x, {n, 1}), array(t, {n, 1}));
}

/// The gradient of the mean of (w x - 2 x)^2 over some x.
double slope_gradient(double w, const std::vector<double>& xs) {
  double sum = 0;
  for (const double x : xs) sum += 2 * x * (w * x - 2 * x);
  return sum / static_cast<double>(xs.size());
}

/// The sizes of the first layer, and all numbers, come with the first batch.
class Mlp : public Chain {
 public:
  explicit Mlp(bool normalized = false, double ratio = 0)
      : l1{*this, "l1", kInfer, 16},
        bn{*this, "bn", 16},
        l2{*this, "l2", 16, 3},
        normalized_{normalized},
        ratio_{ratio} {}
  Variable operator()(const Variable& x) {
    Variable h = l1(x);
    if (normalized_) h = bn(h);
    h = F::relu(h);
    if (ratio_ > 0) h = F::dropout(h, ratio_);
    return l2(h);
  }

  Child<L::Linear> l1;
  Child<L::BatchNormalization> bn;
  Child<L::Linear> l2;

 private:
  bool normalized_;
  double ratio_;
};

std::vector<float> values_of(Link& model) {
  std::vector<float> values;
  for (Parameter* parameter : model.params()) {
    if (!parameter->is_initialized()) continue;
    const std::vector<float> part = parameter->array().astype(Dtype::float32).to_vector<float>();
    values.insert(values.end(), part.begin(), part.end());
  }
  return values;
}

void check_close(const std::vector<float>& a, const std::vector<float>& b, double tolerance) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(difference <= largest)) largest = difference;  // NaN, too
  }
  CHECK(largest <= tolerance);
}

TupleDataset digits(int64_t n) { return TupleDataset(numbers({n, 7}, 5), classes(n, 3)); }

using Prepare = std::function<void(Optimizer&)>;

struct Trained {
  std::vector<float> values;
  double loss;  // of the last step
};

/// `steps` steps of batches of 10 examples, by a StandardUpdater for no replicas.
Trained train_replicas(size_t replicas, int steps, const Prepare& prepare = {},
                       ParallelUpdaterOptions options = {.average = true}) {
  random::seed(4);
  auto model = L::classifier(Mlp());
  optimizers::MomentumSGD optimizer(0.1, 0.9);
  optimizer.setup(model);
  if (prepare) prepare(optimizer);
  SerialIterator iterator(digits(40), 10, {.shuffle = false});
  options.model = model;
  options.devices = cpus(std::max<size_t>(replicas, 1));
  const std::unique_ptr<updaters::Updater> updater =
      replicas == 0 ? std::unique_ptr<updaters::Updater>(std::make_unique<StandardUpdater>(iterator, optimizer))
                    : std::make_unique<ParallelUpdater>(iterator, optimizer, options);
  training::Trainer trainer(*updater, {steps, "iteration"}, ScratchDirectory().path());
  extensions::LogReport log({.trigger = {1, "iteration"}});
  trainer.extend(log);
  trainer.run();
  return {values_of(optimizer.target()), log.log().back().at("main/loss")};
}

}  // namespace

TEST_CASE("ParallelUpdater without threads for its replicas") {
  ReplicaLine model;
  optimizers::SGD optimizer(1.0 / 1024);
  optimizer.setup(model);
  SerialIterator iterator(replica_points(7), 7, {.shuffle = false});
  ParallelUpdater updater(iterator, optimizer, {.model = model, .devices = cpus(3)});
  {
    const NoThreads none;
    CHECK_THROWS_WITH_AS(updater.update(),
                         doctest::Contains("ParallelUpdater: a thread for a replica cannot be started"), WorkerError);
  }
  updater.update();
  CHECK(model.slope() > 0);
}

TEST_CASE("ParallelUpdater sums the gradients of the parts' losses, as Chainer does") {
  for (const bool average : {false, true}) {
    CAPTURE(average);
    ReplicaLine model;
    optimizers::SGD optimizer(1.0 / 1024);
    optimizer.setup(model);
    SerialIterator iterator(replica_points(7), 7, {.shuffle = false});
    ParallelUpdater updater(iterator, optimizer, {.model = model, .devices = cpus(3), .average = average});
    double w = 0;
    const std::vector<double> parts[] = {{1, 4, 7}, {2, 5}, {3, 6}};
    for (int step = 0; step < 3; ++step) {
      updater.update();
      double gradient = 0;
      for (const auto& part : parts) {
        gradient += slope_gradient(w, part) * (average ? static_cast<double>(part.size()) / 7 : 1);
      }
      w -= gradient / 1024;
      CHECK(model.slope() == doctest::Approx(w).epsilon(1e-5));
    }
    CHECK(model.seen == std::vector<float>{1, 4, 7});
    CHECK(dynamic_cast<ReplicaLine&>(updater.replica("replica1")).seen == std::vector<float>{2, 5});
    CHECK(dynamic_cast<ReplicaLine&>(updater.replica("replica2")).seen == std::vector<float>{3, 6});
    CHECK(updater.replica_names() == std::vector<std::string>{"main", "replica1", "replica2"});
    CHECK(&updater.replica("main") == &model);
    CHECK_THROWS_AS(updater.replica("replica3"), KeyError);
    CHECK(updater.iteration() == 3);
    CHECK(optimizer.t() == 3);
    CHECK(optimizer.epoch() == 3);
    CHECK(updater.step_times().iterations == 3);
  }
}

TEST_CASE("ParallelUpdater: averaged gradients make the steps of a StandardUpdater") {
  const Trained expected = train_replicas(0, 6);
  for (const size_t replicas : {1, 2, 4}) {  // of 4, parts of 3, 3, 2 and 2 examples
    CAPTURE(replicas);
    const Trained got = train_replicas(replicas, 6);
    check_close(got.values, expected.values, 2e-6);
    CHECK(got.loss == doctest::Approx(expected.loss).epsilon(1e-5));
  }
  // Equal parts: the sum is as many times larger as there are replicas.
  const Trained slow = train_replicas(0, 6, [](Optimizer& o) { o.hyperparameter("lr") = 0.2; });
  check_close(train_replicas(2, 6, {}, {.average = false}).values, slow.values, 4e-6);
}

TEST_CASE("ParallelUpdater: batches may be sent ahead") {
  const Trained expected = train_replicas(2, 6);
  CHECK(train_replicas(2, 6, {}, {.prefetch = 2, .average = true}).values == expected.values);
}

TEST_CASE("ParallelUpdater: mixed precision and loss scaling") {
  struct Case {
    const char* what;
    Prepare prepare;
    std::optional<DtypePolicy> dtype;
    double tolerance;
  };
  const auto dynamic = [](Optimizer& o) { o.loss_scaling({.initial_scale = 1024}); };
  const auto fixed = [](Optimizer& o) { o.set_loss_scale(256); };
  const auto chainer = [](Optimizer& o) { o.loss_scaling({.scale = 256, .chainer_compatible = true}); };
  for (const Case& c : {Case{"dynamic", dynamic, std::nullopt, 2e-6},
                        {"fixed", fixed, std::nullopt, 2e-6},
                        {"as Chainer", chainer, std::nullopt, 2e-6},
                        {"float16",
                         [&](Optimizer& o) {
                           dynamic(o);
                           o.use_fp32_update();
                         },
                         mixed16, 4e-3},
                        {"bfloat16", [](Optimizer& o) { o.use_fp32_update(); }, mixed_bf16, 3e-2}}) {
    CAPTURE(std::string(c.what));
    std::optional<ScopedSetting<DtypePolicy>> dtype;
    if (c.dtype) dtype.emplace(&Config::dtype, *c.dtype);
    const Trained expected = train_replicas(0, 5, c.prepare);
    for (const size_t replicas : {2, 4}) {
      CAPTURE(replicas);
      check_close(train_replicas(replicas, 5, c.prepare).values, expected.values, c.tolerance);
    }
  }
}

TEST_CASE("ParallelUpdater: a replica's overflow skips the step of all") {
  ReplicaLine model;
  optimizers::SGD optimizer(1.0 / 64);
  optimizer.setup(model);
  optimizer.loss_scaling({.growth = LossScaleGrowth::stepwise, .initial_scale = 8});
  const TupleDataset data(array({1.0f, 3e30f, 1.0f, 2.0f}, {4, 1}), array({2.0f, 3e30f, 2.0f, 4.0f}, {4, 1}));
  SerialIterator iterator(data, 2, {.shuffle = false});
  ParallelUpdater updater(iterator, optimizer, {.model = model, .devices = cpus(2)});
  updater.update();
  CHECK(model.slope() == 0);
  CHECK(optimizer.skipped_steps() == 1);
  CHECK(optimizer.loss_scale() == 4);
  updater.update();
  CHECK(model.slope() == doctest::Approx(-(slope_gradient(0, {1}) + slope_gradient(0, {2})) / 64));
  CHECK(optimizer.t() == 1);
}

TEST_CASE("ParallelUpdater: statistics are those of main's part") {
  random::seed(8);
  Mlp net(true);
  auto model = L::classifier(net);
  optimizers::SGD optimizer(0);
  optimizer.setup(model);
  SerialIterator iterator(digits(9), 9, {.shuffle = false});
  ParallelUpdater updater(iterator, optimizer, {.model = model, .devices = cpus(3)});
  updater.update();
  // The same model with the same numbers, which sees main's part alone.
  auto alone = model;
  auto& normalization = alone.predictor.bn;
  normalization.avg_mean.fill(0);
  normalization.avg_var.fill(1);
  normalization.N = 0;
  Array x = numbers({9, 7}, 5), t = classes(9, 3);
  alone(Variable(x.slice(0, 0, 3, 3).copy(), false), Variable(t.slice(0, 0, 3, 3).copy(), false));
  CHECK(model.predictor.bn.avg_mean.to_vector<float>() == normalization.avg_mean.to_vector<float>());
  CHECK(model.predictor.bn.avg_var.to_vector<float>() == normalization.avg_var.to_vector<float>());
  // And replicas begin each step with them.
  model.predictor.bn.avg_mean.fill(5);
  const auto frozen = using_config(&Config::train, false);
  updater.update();
  auto& replica = dynamic_cast<decltype(model)&>(updater.replica("replica2"));
  CHECK(replica.predictor.bn.avg_mean.to_vector<float>() == std::vector<float>(16, 5.0f));
  CHECK(replica.predictor.l1.W.to_vector<float>() == model.predictor.l1.W.to_vector<float>());
}

TEST_CASE("ParallelUpdater: a batch smaller than the number of replicas") {
  ReplicaLine model;
  optimizers::SGD optimizer(1.0 / 64);
  optimizer.setup(model);
  SerialIterator iterator(replica_points(5), 4, {.repeat = false, .shuffle = false});
  ParallelUpdater updater(iterator, optimizer, {.model = model, .devices = cpus(4)});
  updater.update();
  const double w =
      -(slope_gradient(0, {1}) + slope_gradient(0, {2}) + slope_gradient(0, {3}) + slope_gradient(0, {4})) / 64;
  CHECK(model.slope() == doctest::Approx(w));
  updater.update();
  CHECK(model.slope() == doctest::Approx(w - slope_gradient(w, {5}) / 64));
  CHECK(updater.is_new_epoch());
  CHECK_THROWS_AS(updater.update(), StateError);
}

TEST_CASE("ParallelUpdater: what replicas throw reaches the caller, and the next step works") {
  for (const float bad : {1.0f, 2.0f, 3.0f}) {  // in main's part, in that of the second, of the third
    CAPTURE(bad);
    ReplicaLine model;
    optimizers::SGD optimizer(1.0 / 64);
    optimizer.setup(model);
    SerialIterator iterator(replica_points(6), 3, {.shuffle = false});
    std::atomic<int> finished{0};
    ParallelUpdater updater(
        iterator, optimizer,
        {.model = model, .devices = cpus(3), .loss_func = [&](ReplicaLine& line, const Variable& x, const Variable& t) {
           if (x.to_vector<float>()[0] == bad) throw ValueError("bad example");
           const Variable loss = line(x, t);
           ++finished;
           return loss;
         }});
    CHECK_THROWS_WITH_AS(updater.update(), "bad example", ValueError);
    CHECK(finished == 2);
    CHECK(model.slope() == 0);
    CHECK(updater.iteration() == 0);
    updater.update();
    CHECK(finished == 5);
    CHECK(model.slope() ==
          doctest::Approx(-(slope_gradient(0, {4}) + slope_gradient(0, {5}) + slope_gradient(0, {6})) / 64));
  }
}

TEST_CASE("ParallelUpdater: reports are averaged under the names of main") {
  ReplicaLine model;
  optimizers::SGD optimizer(0);
  optimizer.setup(model);
  SerialIterator iterator(replica_points(3), 3, {.shuffle = false});
  ParallelUpdater updater(iterator, optimizer, {.model = model, .devices = cpus(2)});
  Reporter reporter;
  reporter.add_observer("net", model);
  Observation observation;
  for (const char* name : {"net", "other"}) {
    reporter.add_observer(name, model);
    observation.clear();
    {
      const ReportScope scope = reporter.scope(observation);
      updater.update();
    }
    const std::string prefix = name;
    CHECK(observation.size() == 2);
    CHECK(observation.at(prefix + "/loss") == doctest::Approx((4.0 + 16 + 36) / 3));
    CHECK(observation.at(prefix + "/examples") == doctest::Approx((2.0 * 2 + 1 * 1) / 3));
    CHECK(observation.find(prefix + "/loss")->weight() == doctest::Approx(1));
  }
  updater.update();  // nobody listens
}

TEST_CASE("ParallelUpdater: threads have the caller's config and autocast region") {
  ReplicaLine model;
  optimizers::SGD optimizer(0);
  optimizer.setup(model);
  SerialIterator iterator(replica_points(4), 4, {.shuffle = false});
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::map<float, std::string> seen;
  const updaters::ReplicaLoss loss = [&](ReplicaLine& line, const Variable& x, const Variable& t) {
    const std::scoped_lock lock(mutex);
    threads.insert(std::this_thread::get_id());
    seen[x.to_vector<float>()[0]] = std::string(config().train ? "train " : "test ") +
                                    (config().enable_backprop ? "graph " : "no graph ") + name(line.l(x).dtype());
    return line(x, t);
  };
  ParallelUpdater updater(iterator, optimizer, {.model = model, .devices = cpus(3), .loss_func = loss});
  updater.update();
  CHECK(seen == std::map<float, std::string>{
                    {1, "train graph float32"}, {2, "train graph float32"}, {3, "train graph float32"}});
  {
    const auto train_replicas = using_config(&Config::train, false);
    const auto graph = no_backprop_mode();
    const amp::Autocast autocast({.dtype = Dtype::bfloat16});
    updater.update();
    CHECK(seen == std::map<float, std::string>{
                      {1, "test graph bfloat16"}, {2, "test graph bfloat16"}, {3, "test graph bfloat16"}});
  }
  updater.update();
  CHECK(seen[2] == "train graph float32");
  CHECK(threads.size() == 3);
  CHECK(threads.count(std::this_thread::get_id()) == 1);
  updater.finalize();  // ends the threads, not the updater's use
}

TEST_CASE("ParallelUpdater: models and loss functions of one's own") {
  ReplicaLine model, second;
  second.l.W.array().fill(7);
  optimizers::SGD optimizer(1.0 / 64);
  optimizer.setup(model);
  SerialIterator iterator(replica_points(2), 2, {.shuffle = false});
  ParallelUpdater updater(
      iterator, optimizer,
      {.models = {{"second", second}, {"main", model}},
       .loss_func = [](ReplicaLine& line, const Variable& x, const Variable& t) { return line(x, t) * 2; }});
  updater.update();
  CHECK(model.slope() == doctest::Approx(-2 * (slope_gradient(0, {1}) + slope_gradient(0, {2})) / 64));
  CHECK(second.slope() == 0);  // main's before the step
  CHECK(model.seen == std::vector<float>{1});
  CHECK(&updater.replica("second") == &second);

  Mlp other;
  CHECK_THROWS_AS(ParallelUpdater(iterator, optimizer, {.models = {{"main", model}, {"other", other}}}), TypeError);
  const auto loss = [](ReplicaLine& line, const Variable& x, const Variable& t) { return line(x, t); };
  CHECK_THROWS_AS(
      ParallelUpdater(iterator, optimizer, {.models = {{"main", model}, {"other", other}}, .loss_func = loss}),
      KeyError);
  CHECK_THROWS_AS(ParallelUpdater(iterator, optimizer, {.models = {{"main", second}}}), ValueError);
  CHECK_THROWS_AS(ParallelUpdater(iterator, optimizer, {.models = {{"main", model}}, .devices = cpus(2)}), ValueError);
  CHECK_THROWS_AS(
      ParallelUpdater(iterator, optimizer, {.models = {{"main", model}, {"second", second}}, .devices = cpus(1)}),
      ValueError);
  CHECK_THROWS_AS(ParallelUpdater(iterator, optimizer, {}), ValueError);
  CHECK_THROWS_WITH_AS(ParallelUpdater(iterator, optimizer, {.model = second, .devices = cpus(2)}),
                       "ParallelUpdater: model is not the target of the optimizer", ValueError);
  CHECK_THROWS_WITH_AS(
      ParallelUpdater(iterator, optimizer, {.model = model, .models = {{"main", model}, {"second", second}}}),
      doctest::Contains("both model and models are given"), ValueError);
  CHECK_THROWS_WITH_AS(ParallelUpdater(iterator, optimizer, {.model = model, .devices = {{"first", Device()}}}),
                       "ParallelUpdater: devices has no entry named 'main'", KeyError);
  CHECK_THROWS_AS(
      ParallelUpdater(iterator, optimizer, {.model = model, .devices = {{"main", Device()}, {"main", Device()}}}),
      ValueError);
}

TEST_CASE("ParallelUpdater: a model that cannot be copied") {
  // Its class says that it can; the optimizer must not ask.
  class Fixed : public ReplicaLine {
    std::vector<std::unique_ptr<int>> unique_;
  };
  Fixed model, second;
  optimizers::SGD optimizer(1.0 / 64);
  optimizer.setup(model);
  SerialIterator iterator(replica_points(2), 2, {.shuffle = false});
  CHECK_THROWS_WITH_AS(ParallelUpdater(iterator, optimizer, {.devices = cpus(2)}),
                       doctest::Contains("neither model nor models are given"), ValueError);
  ParallelUpdater updater(iterator, optimizer, {.models = {{"main", model}, {"second", second}}});
  updater.update();
  CHECK(model.slope() == doctest::Approx(-(slope_gradient(0, {1}) + slope_gradient(0, {2})) / 64));
}

TEST_CASE("ParallelUpdater: parameters that not every part uses, or none") {
  class Branches : public Chain {
   public:
    Branches()
        : a{*this, "a", 1, 1, {.nobias = true}}, b{*this, "b", kInfer, 1, {.nobias = true}}, c{*this, "c", kInfer, 1} {}
    Variable operator()(const Variable& x) { return F::sum(x.to_vector<float>()[0] == 1 ? a(x) : b(x)); }
    Child<L::Linear> a, b, c;
  };
  Branches model;
  optimizers::SGD optimizer(1.0);
  optimizer.setup(model);
  optimizer.set_loss_scale(4);
  const TupleDataset data(array({1.0f, 2.0f}, {2, 1}));
  SerialIterator iterator(data, 2, {.shuffle = false});
  ParallelUpdater updater(iterator, optimizer, {.model = model, .devices = cpus(2)});
  updater.update();
  const float a = model.a.W.item<float>(), b = model.b.W.item<float>();
  updater.update();
  CHECK(model.a.W.item<float>() == doctest::Approx(a - 1));
  CHECK(model.b.W.item<float>() == doctest::Approx(b - 2));
  CHECK_FALSE(model.c.W.is_initialized());
}

TEST_CASE("ParallelUpdater: snapshots hold main alone, and runs go on from them exactly") {
  const ScratchDirectory directory;
  const std::string path = directory.path() + "/snapshot.npz";
  const auto run = [&](int steps, bool resumes, int saved_after) {
    random::seed(resumes ? 77 : 4);
    auto model = L::classifier(Mlp(true, 0.5));
    optimizers::Adam optimizer({.alpha = 0.01});
    optimizer.setup(model);
    SerialIterator iterator(digits(40), 9);
    ParallelUpdater updater(iterator, optimizer, {.model = model, .devices = cpus(3)});
    training::Trainer trainer(updater, {steps, "iteration"}, directory.path());
    if (resumes) serializers::load_npz(path, trainer);
    if (saved_after > 0) {
      for (int i = 0; i < saved_after; ++i) updater.update();
      serializers::save_npz(path, trainer);
      for (int i = saved_after; i < steps; ++i) updater.update();
    } else {
      trainer.run();
    }
    return values_of(model);
  };
  const std::vector<float> whole = run(8, false, 3);
  CHECK(run(8, true, 0) == whole);
  for (const std::string& key : serializers::NpzReader(path).keys()) {
    CAPTURE(key);
    CHECK(key.find("replica") == std::string::npos);
  }
}

TEST_CASE("ParallelUpdater: converters get each part") {
  ReplicaLine model;
  optimizers::SGD optimizer(0);
  optimizer.setup(model);
  SerialIterator iterator(replica_points(5), 5, {.shuffle = false});
  std::vector<size_t> sizes;
  const auto converter = [&](std::span<const datasets::Example> batch, const Device& device) {
    sizes.push_back(batch.size());
    return datasets::concat_examples(batch, device);
  };
  ParallelUpdater updater(iterator, optimizer, {.converter = converter, .model = model, .devices = cpus(2)});
  updater.update();
  CHECK(sizes == std::vector<size_t>{3, 2});
}

}  // namespace kusari::testing
