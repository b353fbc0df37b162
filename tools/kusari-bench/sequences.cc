#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/functions/connection/linear.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/rnn/packed_sequence.h"
#include "kusari/framework/links/connection/embed_id.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/rnn/n_step_lstm.h"
#include "kusari/optimizers/hooks/gradient_clipping.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tools/kusari-bench/cases.h"
#include "kusari/tools/kusari-bench/replay_overhead.h"
#include "kusari/tools/kusari-bench/training.h"
#include "kusari/updaters/static_step.h"

namespace bench {
namespace {

using kusari::PackedSequence;
using kusari::Variable;
namespace F = kusari::functions;
namespace L = kusari::links;

constexpr int64_t kWords = 10'000, kUnits = 650, kTimes = 35, kBatch = 20;

/// A language model: words, two layers of LSTM, the scores of the next words.
class RnnLm : public kusari::Chain {
 public:
  RnnLm()
      : embed{*this, "embed", kWords, kUnits},
        lstm{*this, "lstm", 2, kUnits, kUnits, 0},
        out{*this, "out", kUnits, kWords} {}
  Variable operator()(const PackedSequence& words) const { return out(lstm({}, {}, words.map(embed)).ys.data()); }
  kusari::Child<L::EmbedID> embed;
  kusari::Child<L::NStepLSTM> lstm;
  kusari::Child<L::Linear> out;
};

/// Word numbers of `lengths`.size() sequences, packed, on a device.
PackedSequence draw_words(const std::vector<int64_t>& lengths, const kusari::Device& device) {
  std::vector<int64_t> order(lengths.size()),
      batch_sizes(static_cast<size_t>(*std::max_element(lengths.begin(), lengths.end())));
  std::iota(order.begin(), order.end(), int64_t{0});
  for (const int64_t length : lengths) {
    for (int64_t t = 0; t < length; ++t) ++batch_sizes[static_cast<size_t>(t)];
  }
  const int64_t count = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  return PackedSequence(Variable(draw_labels(count, kWords).to_device(device), false), std::move(batch_sizes),
                        std::move(order));
}

void train_lm(const Settings& settings, const char* name, const std::vector<int64_t>& lengths) {
  RnnLm model;
  model.to(settings.dtype.dtype());
  model.to(settings.device);
  kusari::optimizers::SGD optimizer({.lr = 1});
  optimizer.setup(model);
  optimizer.add_hook(kusari::optimizer_hooks::GradientClipping(5));
  prepare_for(settings, optimizer);
  const PackedSequence words = draw_words(lengths, settings.device);
  const Variable next(draw_labels(words.count(), kWords).to_device(settings.device), false);
  std::optional<kusari::updaters::StaticStep> replayed;
  if (settings.static_graph == "step" || settings.replay_overhead) {
    replayed.emplace(
        kusari::StaticGraphOptions{.passes = settings.replay_overhead ? kusari::StaticGraphPasses::none()
                                                                      : kusari::StaticGraphPasses()},
        [&](kusari::Optimizer&, std::span<const Variable> inputs) {
          return F::softmax_cross_entropy(model(words.with(inputs[0])), inputs[1]);
        },
        false);
  }
  const Variable inputs[] = {words.data(), next};
  const auto loss = [&] { return F::softmax_cross_entropy(model(words), next); };
  const auto batch = static_cast<int64_t>(lengths.size());
  if (settings.gradient_times) return report_gradient_times(settings, name, batch, model, optimizer, loss);
  if (settings.replay_overhead) {
    return report_replay_overhead(
        settings, name, [&] { optimizer.update(loss); }, [&] { replayed->update(optimizer, inputs); });
  }
  const Samples samples = sample(settings, [&] {
    if (replayed) return replayed->update(optimizer, inputs);
    optimizer.update(loss);
  });
  report(settings, name, "ms/step", samples, 1e3,
         ",\"tokens\":" + std::to_string(words.count()) + static_graph_field(settings));
}

}  // namespace

void lstm_lm(const Settings& settings) { train_lm(settings, "lstm_lm", std::vector<int64_t>(kBatch, kTimes)); }

void lstm_ragged(const Settings& settings) {
  std::vector<int64_t> lengths;
  for (int64_t b = 0; b < kBatch; ++b) lengths.push_back(kTimes - b * 30 / (kBatch - 1));
  train_lm(settings, "lstm_ragged", lengths);
}

void n_step(const Settings& settings) {
  constexpr int64_t kLength = 20, kSequences = 32, kHidden = 128;
  const L::NStepLSTM lstm(1, kHidden, kHidden, 0);
  std::vector<int64_t> order(kSequences);
  std::iota(order.begin(), order.end(), int64_t{0});
  const PackedSequence xs(Variable(draw_normal({kLength * kSequences, kHidden}).to_device(settings.device), false),
                          std::vector<int64_t>(kLength, kSequences), order);
  L::NStepLSTM model = lstm;
  model.to(settings.device);
  const Samples samples = sample(settings, [&] {
    model.cleargrads();
    F::sum(model({}, {}, xs).ys.data()).backward();
  });
  report(settings, "n_step", "us/step", samples, 1e6);
}

}  // namespace bench
