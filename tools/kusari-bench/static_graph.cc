#include "kusari/framework/static_graph/static_graph.h"

#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/functions/activation/sigmoid.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/tools/kusari-bench/cases.h"
#include "kusari/tools/kusari-bench/replay_overhead.h"
#include "kusari/tools/kusari-bench/small_mlp.h"
#include "kusari/tools/kusari-bench/training.h"

namespace bench {
namespace {

namespace F = kusari::functions;
using kusari::Array;
using kusari::Variable;

using ReplayedTraining = Training<SmallMlp, kusari::optimizers::MomentumSGD>;

/// Ten operations at a time, as in an LSTM: gates, state, output.
Variable lstm_like(const Variable& x) {
  Variable h = x, c = x;
  for (int i = 0; i < 100; ++i) {
    const Variable input = F::sigmoid(h + x), forget = F::sigmoid(h * x), output = F::sigmoid(h);
    c = forget * c + input * F::tanh(h);
    h = output * c;
  }
  return h;
}
constexpr int kOperations = 1000;

}  // namespace

void static_overhead(const Settings& settings) {
  const Array x = draw_normal({16, 32}), t = draw_labels(16, 8);
  const auto optimizer = [] { return kusari::optimizers::MomentumSGD(0.01, 0.9); };
  ReplayedTraining plain(settings, SmallMlp(), optimizer(), x, t);
  Settings whole = settings;
  whole.static_graph = "step";
  ReplayedTraining replayed(whole, SmallMlp(), optimizer(), x, t, kusari::StaticGraphPasses::none());
  report_replay_overhead(
      settings, "static_overhead", [&] { plain.step(); }, [&] { replayed.step(); });
}

void static_chain(const Settings& settings) {
  const auto no_graph = kusari::no_backprop_mode();
  const Variable x(draw_normal({16}), false);
  const auto print = [&](const char* name, const auto& call) {
    report(settings, name, "ns/op", sample(settings, call), 1e9 / kOperations);
  };
  print("static_chain.define_by_run", [&] { lstm_like(x); });
  auto replayed = kusari::static_graph(lstm_like, {.passes = {.fuse_pointwise = false}});
  print("static_chain.replay", [&] { replayed(x); });
  auto fused = kusari::static_graph(lstm_like);
  print("static_chain.replay_fused", [&] { fused(x); });
}

}  // namespace bench
