#include <cstdint>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/reporter.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/model/classifier.h"
#include "kusari/framework/training/extensions/gradient_statistics.h"
#include "kusari/framework/training/extensions/log_report.h"
#include "kusari/framework/training/extensions/micro_average.h"
#include "kusari/framework/training/extensions/print_report.h"
#include "kusari/framework/training/extensions/progress_bar.h"
#include "kusari/framework/training/extensions/value_observation.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/iterators/multithread_iterator.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/optimizer_hooks.h"
#include "kusari/tests/core/child_process.h"
#include "kusari/tests/gpu/testing.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/updaters/standard_updater.h"

// Which iterations of a training loop wait for the device: those alone of which something is printed.
namespace kusari::testing {
namespace {

constexpr int kInterval = 6, kIterations = 12;

class Mlp : public Chain {
 public:
  Mlp() : l1{*this, "l1", 20, 16}, l2{*this, "l2", 16, 5} {}
  Variable operator()(const Variable& x) {
    const Variable y = l2(functions::relu(l1(x)));
    report({{"right", y.array().at(0).at(0)}, {"all", 1.0}}, *this);
    return y;
  }

 private:
  Child<L::Linear> l1, l2;
};

datasets::TupleDataset examples() {
  constexpr int64_t kExamples = 40;
  std::vector<int32_t> t(static_cast<size_t>(kExamples));
  for (size_t i = 0; i < t.size(); ++i) t[i] = static_cast<int32_t>(i % 5);
  return datasets::TupleDataset(uniform_array({kExamples, 20}, -1, 1), array(t, {kExamples}));
}

void train_counting_waits(const updaters::StandardUpdaterOptions& options, bool threads) {
  const ScratchDirectory dir;
  links::Classifier<Mlp> model{Mlp()};
  optimizers::Adam optimizer;
  optimizer.setup(model);
  optimizer.use_fp32_update();
  optimizer.add_hook(optimizer_hooks::GradientClipping(1));
  optimizer.add_hook(optimizer_hooks::WeightDecay(1e-4));
  const auto make = [&]() -> iterators::IteratorRef {
    if (threads) return iterators::MultithreadIterator(examples(), 8, {.n_threads = 2});
    return iterators::SerialIterator(examples(), 8);
  };
  updaters::StandardUpdater updater(make(), optimizer, options);
  training::Trainer trainer(updater, {kIterations, "iteration"}, dir.path());
  const training::TriggerRef trigger(kInterval, "iteration");
  trainer.extend(extensions::observe_lr(), {.trigger = {1, "iteration"}});
  trainer.extend(extensions::MicroAverage("main/predictor/right", "main/predictor/all", "ratio", trigger));
  trainer.extend(extensions::GradientStatistics({.trigger = trigger, .filename = ""}));
  trainer.extend(extensions::LogReport({.trigger = trigger}));
  trainer.extend(extensions::PrintReport({"iteration", "main/loss", "main/accuracy", "lr", "ratio", "data_time"}));
  trainer.extend(extensions::ProgressBar({.update_interval = 1, .plain_interval = 0}));
  trainer.extend(
      [](training::Trainer& t) {
        std::fflush(stdout);
        std::fprintf(stderr, "done %lld\n", static_cast<long long>(t.updater().iteration()));
      },
      {.priority = -300});
  std::fprintf(stderr, "begin\n");
  trainer.run();
  std::fprintf(stderr, "end\n");
}

TEST_CASE("trace training loops" * doctest::skip()) {
  const Device device = *gpu_device();
  for (const Dtype dtype : {Dtype::float32, Dtype::float16}) {
    const auto policy = using_config(&Config::dtype, dtype);
    for (const bool threads : {false, true}) {
      train_counting_waits({.device = device}, threads);
      train_counting_waits({.device = device, .loss_scaling = LossScalingOptions{}, .prefetch = 2}, threads);
      train_counting_waits({.device = device, .loss_scaling = LossScalingOptions{}, .prefetch = 2, .accumulate = 2},
                           threads);
    }
  }
}

TEST_CASE("a training loop waits for the device only where values are printed") {
  if (!gpu_device()) return;
  const ChildResult child =
      run_in_child("KUSARI_EMULATED_TRACE=1 KUSARI_EMULATED_STREAMS=eager", "trace training loops");
  CHECK(child.exit_code == 0);
  if (child.output.find("device: ") == std::string::npos) KUSARI_SKIP("a card keeps no trace");
  int runs = 0;
  for (size_t at = child.output.find("begin\n"); at != std::string::npos; at = child.output.find("begin\n", at + 1)) {
    const std::string run = child.output.substr(at, child.output.find("\nend", at) - at);
    std::set<int> waited;
    size_t begin = 0;
    for (int i = 1; i <= kIterations; ++i) {
      const size_t end = run.find("done " + std::to_string(i) + "\n", begin);
      REQUIRE(end != std::string::npos);
      const std::string iteration = run.substr(begin, end - begin);
      CHECK(iteration.find("device: copy") != std::string::npos);
      if (i > 2 && iteration.find("device: wait") != std::string::npos) waited.insert(i);  // tables are there by then
      begin = end;
    }
    CAPTURE(runs);
    CHECK(waited == std::set<int>{kInterval, 2 * kInterval});
    ++runs;
  }
  CHECK(runs == 12);
}

}  // namespace
}  // namespace kusari::testing
