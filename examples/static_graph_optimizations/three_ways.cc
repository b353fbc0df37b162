// What static graphs bring: the same network takes the same steps define-by-run, as static_graph(model), and with whole
// steps recorded by the updater. The parameters are the same to the bit; the program shows what a step takes, and
// how often the network's C++ code runs.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/common/banner.h"
#include "kusari/examples/common/flags.h"
#include "kusari/examples/static_graph_optimizations/nets.h"

using namespace kusari;

namespace {

struct Arguments : Flags {
  std::string model = choice("-m,--model", {"mlp", "cnn", "rows"}, "rows", "mlp, cnn, or rows: an LSTM");
  int64_t unit = count("-u,--unit", 32, "Number of units, or of channels");
  int64_t batchsize = count("-b,--batchsize", 32, "Number of images in each mini-batch");
  int64_t steps = number("--steps", 20, "Steps that are timed together", between(1, 100000));
  int64_t rounds = count("--rounds", 10, "How often each way takes so many steps, in turn");
  std::string device = device_flag();
  bool summary = flag("--summary", "Print what was recorded and what the passes did");
  int64_t seed = number("--seed", 0, "Random seed", not_negative());
};

template <class Net>
using Model = L::Classifier<Counted<Net>>;

// A model of its own with one way to take steps.
template <class Net>
struct Way {
  const char* name;
  Model<Net> model;
  optimizers::Adam optimizer;
  std::function<void()> step;
  double first_ms = 0, ms = 1e300;

  Way(const char* n, const Model<Net>& start) : name{n}, model{start} {}
};

template <class Net>
void run_round(Way<Net>& way, int64_t steps, const Device& device, bool is_first) {
  using Clock = std::chrono::steady_clock;
  const auto timed = [&](int64_t n) {
    const auto begin = Clock::now();
    for (int64_t i = 0; i < n; ++i) way.step();
    synchronize(device);
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count() / static_cast<double>(n);
  };
  if (is_first) way.first_ms = timed(1);
  way.ms = std::min(way.ms, timed(steps));
}

// How many numbers of the parameters differ.
int64_t differences(Link& a, Link& b) {
  int64_t count = 0;
  for (const auto& [path, parameter] : a.namedparams()) {
    count += xp::count_nonzero(parameter->array() != b.param(path).array()).template item<int64_t>();
  }
  return count;
}

template <class Net>
void compare(const Arguments& args, Net net) {
  const auto device = get_device(args.device);
  print_banner({{"Device", device}, {"# unit", args.unit}, {"# Minibatch-size", args.batchsize}});
  const auto digits = datasets::get_stroke_digits({.n_train = 2000, .n_test = 0}).train;
  const iterators::OrderOptions in_order{.shuffle = false};

  auto start = L::classifier(Counted(std::move(net)));
  start.to(device);
  Way<Net> eager("define-by-run", start), graph("static_graph(model)", start), whole("whole steps", start);

  // Define-by-run
  eager.optimizer.setup(eager.model);
  iterators::SerialIterator eager_iter(digits, args.batchsize, in_order);
  updaters::StandardUpdater eager_updater(eager_iter, eager.optimizer, {.device = device});
  eager.step = [&] { eager_updater.update(); };

  // A model that is recorded at its first call
  auto fast = static_graph(graph.model);
  graph.optimizer.setup(graph.model);
  iterators::SerialIterator graph_iter(digits, args.batchsize, in_order);
  graph.step = [&] {
    const auto batch = datasets::concat_examples(graph_iter.next(), device);
    graph.optimizer.update(fast, batch[0], batch[1]);
  };

  // Forward, backward and the optimizer's step are recorded together
  whole.optimizer.setup(whole.model);
  iterators::SerialIterator whole_iter(digits, args.batchsize, in_order);
  updaters::StandardUpdater whole_updater(whole_iter, whole.optimizer, {.device = device, .static_graph = true});
  whole.step = [&] { whole_updater.update(); };

  // In turn, so that what else the machine does meets all of them
  const auto ways = {&eager, &graph, &whole};
  for (int64_t round = 0; round < args.rounds; ++round) {
    for (Way<Net>* way : ways) run_round(*way, args.steps, device, round == 0);
  }

  if (args.summary) std::printf("%s\n%s\n", fast.summary().c_str(), whole_updater.static_step()->summary().c_str());
  std::printf("%-20s %10s %10s %10s %10s %10s\n", "", "first ms", "ms a step", "of it", "calls", "runs");
  for (const Way<Net>* way : ways) {
    std::printf("%-20s %10.3f %10.3f %9.0f%% %10lld %10lld\n", way->name, way->first_ms, way->ms,
                100 * way->ms / eager.ms, static_cast<long long>(way->model.predictor.calls),
                static_cast<long long>(way->model.predictor.runs));
  }
  std::printf("numbers that differ after %lld steps: %lld and %lld\n",
              static_cast<long long>(args.rounds * args.steps + 1),
              static_cast<long long>(differences(eager.model, graph.model)),
              static_cast<long long>(differences(eager.model, whole.model)));
}

void run(const Arguments& args) {
  random::seed(static_cast<uint64_t>(args.seed));
  if (args.model == "mlp") return compare(args, Mlp(args.unit));
  if (args.model == "cnn") return compare(args, Cnn(args.unit));
  compare(args, Rows(args.unit));
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<Arguments>(argc, argv, "Kusari example: what static graphs bring", run);
}
