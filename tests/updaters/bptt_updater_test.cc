#include "kusari/updaters/bptt_updater.h"

#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/links/connection/embed_id.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/model/classifier.h"
#include "kusari/framework/links/rnn/lstm.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/iterators/parallel_sequential_iterator.h"
#include "kusari/optimizers/adam.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari::bptt_test {
namespace {

using iterators::ParallelSequentialIterator;
using updaters::BPTTUpdater;

constexpr int64_t kWords = 11;

class Lm : public Chain {
 public:
  Lm() : embed{*this, "embed", kWords, 6}, lstm{*this, "lstm", 6, 5}, out{*this, "out", 5, kWords} {}
  Variable operator()(const Variable& x) { return out(lstm(embed(x))); }
  Child<L::EmbedID> embed;
  Child<L::LSTM> lstm;
  Child<L::Linear> out;
};
using Model = L::Classifier<Lm>;

Array text(int64_t n = 97) {
  std::vector<int32_t> words;
  for (int64_t i = 0; i < n; ++i) words.push_back(static_cast<int32_t>((i * i + i / 3) % kWords));
  return array(words);
}

std::vector<uint32_t> bits(Link& model) {
  std::vector<uint32_t> result;
  for (Parameter* p : model.params()) {
    for (const float value : p->to_vector<float>()) result.push_back(std::bit_cast<uint32_t>(value));
  }
  return result;
}

}  // namespace

TEST_CASE("BPTTUpdater takes the steps of Chainer's example") {
  Model by_hand{Lm()};
  Model updated = by_hand;
  optimizers::SGD a(0.5), b(0.5);
  a.setup(by_hand);
  b.setup(updated);
  ParallelSequentialIterator first(text(), 4), second(text(), 4);
  BPTTUpdater updater(second, b, {.bprop_len = 5, .by_time = true});
  for (int step = 0; step < 6; ++step) {
    Variable loss;
    for (int t = 0; t < 5; ++t) {
      std::vector<int32_t> x, next;
      for (const auto& example : first.next()) {
        x.push_back(example[0].item<int32_t>());
        next.push_back(example[1].item<int32_t>());
      }
      const Variable one = by_hand(Variable(array(x), false), Variable(array(next), false));
      loss = t == 0 ? one : loss + one;
    }
    by_hand.cleargrads();
    loss.backward();
    loss.unchain_backward();
    a.update();
    updater.update();
    CHECK(bits(by_hand) == bits(updated));
    CHECK(updater.epoch_detail() == first.epoch_detail());
  }
  CHECK(updater.iteration() == 6);
}

TEST_CASE("BPTTUpdater: static graphs, windows of the iterator or of the updater, give the same bits") {
  const auto train = [](bool is_static, bool by_window) {
    Model model{Lm()};
    for (Parameter* p : model.params()) p->array().fill(0.1);
    optimizers::Adam optimizer;
    optimizer.setup(model);
    ParallelSequentialIterator iterator(text(), 4, {.window = by_window ? 5 : 0});
    BPTTUpdater updater(iterator, optimizer,
                        {.bprop_len = by_window ? 0 : 5, .by_time = true, .static_graph = is_static});
    for (int step = 0; step < 12; ++step) updater.update();
    if (is_static) CHECK(updater.static_step()->replays() >= 8);
    return bits(model);
  };
  const auto expected = train(false, false);
  CHECK(train(false, true) == expected);
  CHECK(train(true, false) == expected);
  CHECK(train(true, true) == expected);
}

TEST_CASE("BPTTUpdater resumes with the state of the model") {
  const testing::ScratchDirectory folder;
  const std::string path = folder / "updater.npz";
  struct Run {
    Model model{Lm()};
    optimizers::Adam optimizer;
    ParallelSequentialIterator iterator{text(), 4};
    std::unique_ptr<BPTTUpdater> updater;
    Run() {
      optimizer.setup(model);
      updater =
          std::make_unique<BPTTUpdater>(iterator, optimizer, BPTTUpdater::Options{.bprop_len = 5, .by_time = true});
    }
  };
  Run run;
  for (int step = 0; step < 3; ++step) run.updater->update();
  serializers::save_npz(path, *run.updater);
  Run again;
  again.updater->update();  // has a state of its own
  serializers::load_npz(path, *again.updater);
  for (int step = 0; step < 3; ++step) {
    run.updater->update();
    again.updater->update();
    CHECK(bits(run.model) == bits(again.model));
  }
}

TEST_CASE("options that BPTTUpdater refuses") {
  Model model{Lm()};
  optimizers::SGD optimizer(0.5);
  optimizer.setup(model);
  ParallelSequentialIterator iterator(text(), 4);
  CHECK_THROWS_WITH_AS(BPTTUpdater(iterator, optimizer, {.bprop_len = -1}),
                       "BPTTUpdater: bprop_len is -1: it must not be negative", ValueError);
}

}  // namespace kusari::bptt_test
