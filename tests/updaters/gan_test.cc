#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/random.h"
#include "kusari/framework/core/reporter.h"
#include "kusari/framework/datasets/example_random.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/functions/activation/softplus.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/training/extensions/log_report.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/adam.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/updaters/standard_updater.h"

using namespace kusari;
using datasets::TupleDataset;
using iterators::SerialIterator;
using updaters::StandardUpdater;
namespace F = kusari::functions;

namespace {

constexpr int64_t kBatch = 64;
constexpr double kMean = 3, kDeviation = 0.5;

class Generator : public Chain {
 public:
  Generator() : l1{*this, "l1", 2, 16}, l2{*this, "l2", 16, 1} {}
  Variable operator()(const Variable& z) { return l2(F::tanh(l1(z))); }

 private:
  Child<L::Linear> l1, l2;
};

class Discriminator : public Chain {
 public:
  Discriminator() : l1{*this, "l1", 1, 32}, l2{*this, "l2", 32, 32}, l3{*this, "l3", 32, 1} {}
  Variable operator()(const Variable& x) { return l3(F::tanh(l2(F::tanh(l1(x))))); }

 private:
  Child<L::Linear> l1, l2, l3;
};

/// As chainer/examples/dcgan/updater.py: both losses are made of one graph.
class GanUpdater final : public StandardUpdater {
 public:
  GanUpdater(Generator& gen, Discriminator& dis, NamedIterators iterators, NamedOptimizers optimizers,
             updaters::StandardUpdaterOptions options = {})
      : StandardUpdater(std::move(iterators), std::move(optimizers), std::move(options)), gen_{gen}, dis_{dis} {}

 protected:
  void update_core() override {
    const Variable x_real = next_inputs()[0];
    const Variable y_real = dis_(x_real);
    const Variable x_fake = gen_(next_inputs("latent")[0]);
    const Variable y_fake = dis_(x_fake);
    get_optimizer("dis").update([&] {
      const Variable loss = (F::sum(F::softplus(-y_real)) + F::sum(F::softplus(y_fake))) / double{kBatch};
      report({{"loss", loss}}, dis_);
      return loss;
    });
    get_optimizer("gen").update([&] {
      const Variable loss = F::sum(F::softplus(-y_fake)) / double{kBatch};
      report({{"loss", loss}}, gen_);
      return loss;
    });
  }

 private:
  Generator& gen_;
  Discriminator& dis_;
};

TupleDataset normal_numbers(uint64_t seed, int64_t n, int64_t columns, double mean, double deviation) {
  datasets::ExampleRandom random(seed);
  std::vector<float> x(static_cast<size_t>(n * columns));
  for (float& v : x) v = static_cast<float>(random.normal(mean, deviation));
  return TupleDataset(array(x, {n, columns}));
}

struct Moments {
  double mean, deviation;
};

Moments moments(const std::vector<float>& x) {
  double sum = 0, squares = 0;
  for (const float v : x) {
    sum += v;
    squares += double{v} * v;
  }
  const double n = static_cast<double>(x.size());
  return {sum / n, std::sqrt(squares / n - sum / n * sum / n)};
}

struct Outcome {
  Moments before, after;
  std::vector<float> samples;
  std::vector<extensions::LogEntry> log;
  int64_t t_gen, t_dis;
};

Outcome train_gan(int64_t prefetch) {
  const testing::ScratchDirectory dir;
  random::seed(3);
  Generator gen;
  Discriminator dis;
  optimizers::Adam gen_optimizer({.alpha = 0.002, .beta1 = 0.5}), dis_optimizer({.alpha = 0.004, .beta1 = 0.5});
  gen_optimizer.setup(gen);
  dis_optimizer.setup(dis);
  const auto latent = normal_numbers(1, 1000, 2, 0, 1);
  const auto generate = [&] { return gen(Variable(latent.arrays()[0], false)).to_vector<float>(); };
  const Moments before = moments(generate());
  GanUpdater updater(gen, dis,
                     {{"main", SerialIterator(normal_numbers(2, 1000, 1, kMean, kDeviation), kBatch)},
                      {"latent", SerialIterator(latent, kBatch)}},
                     {{"gen", gen_optimizer}, {"dis", dis_optimizer}}, {.prefetch = prefetch});
  training::Trainer trainer(updater, {1500, "iteration"}, dir.path());
  extensions::LogReport log({.trigger = {300, "iteration"}});
  trainer.extend(log);
  trainer.run();
  std::vector<float> samples = generate();
  return {before, moments(samples), std::move(samples), log.log(), gen_optimizer.t(), dis_optimizer.t()};
}

}  // namespace

TEST_CASE("a GAN, written as Chainer's example, learns a distribution") {
  const Outcome outcome = train_gan(0);
  CHECK(std::abs(outcome.before.mean - kMean) > 1.5);
  CHECK(outcome.after.mean == doctest::Approx(kMean).epsilon(0.1));
  CHECK(outcome.after.deviation > 0.25);
  CHECK(outcome.after.deviation < 1);
  // Where the discriminator cannot tell, its loss is 2 log 2 and the generator's log 2.
  CHECK(outcome.log.back().at("dis/loss") == doctest::Approx(2 * std::log(2)).epsilon(0.1));
  CHECK(outcome.log.back().at("gen/loss") == doctest::Approx(std::log(2)).epsilon(0.2));
  CHECK(outcome.t_gen == 1500);
  CHECK(outcome.t_dis == 1500);
  CHECK(train_gan(2).samples == outcome.samples);
}
