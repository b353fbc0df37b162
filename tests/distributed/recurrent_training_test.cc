#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/random.h"
#include "kusari/framework/distributed/multi_node_optimizer.h"
#include "kusari/framework/distributed/multi_node_snapshot.h"
#include "kusari/framework/functions/loss/token_cross_entropy.h"
#include "kusari/framework/links/connection/embed_id.h"
#include "kusari/framework/links/rnn/lstm.h"
#include "kusari/framework/training/extensions/snapshot.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/iterators/parallel_sequential_iterator.h"
#include "kusari/optimizers/hooks/gradient_clipping.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/distributed/rank_results.h"
#include "kusari/tests/distributed/small_models.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/updaters/bptt_updater.h"

namespace kusari::recurrent_training_test {
namespace {

using namespace testing;

using distributed::Communicator;

using Values = std::vector<double>;

constexpr int64_t kWords = 11;

class LanguageModel : public Chain {
 public:
  LanguageModel() : embed{*this, "embed", kWords, 6}, lstm{*this, "lstm", 6, 5}, out{*this, "out", 5, kWords} {}
  Variable operator()(const Variable& x) { return out(lstm.sequence(embed(x)), 2); }

  Child<links::EmbedID> embed;
  Child<links::LSTM> lstm;
  Child<links::Linear> out;
};

/// Each rank's parameters after a training that goes on from the newest snapshot in `out`.
std::vector<Values> train(int ranks, int64_t iterations, const std::string& out) {
  random::seed(17);
  return on_ranks<Values>(ranks, [&](Communicator& comm) {
    std::vector<int32_t> words;
    for (int64_t i = 0; i < 173; ++i) words.push_back(static_cast<int32_t>((i * i + i / 3) % kWords));
    auto model = links::classifier(
        LanguageModel(),
        {.lossfun = [](const Variable& y, const Variable& t) { return functions::token_cross_entropy(y, t); },
         .compute_accuracy = false});
    auto optimizer = distributed::create_multi_node_optimizer(optimizers::SGD(1), comm);
    optimizer.setup(model);
    optimizer.add_hook(optimizer_hooks::GradientClipping(1));
    // Seven places: some ranks have one more than others.
    iterators::ParallelSequentialIterator iterator(array(words), 7, {.window = 4, .shard = comm.shard()});
    updaters::BPTTUpdater updater(iterator, optimizer);
    training::Trainer trainer(updater, {iterations, "iteration"}, out);
    trainer.extend(distributed::multi_node_snapshot(comm, extensions::snapshot({.autoload = true})),
                   {.trigger = {6, "iteration"}});
    trainer.run();
    return values_of(model);
  });
}

TEST_CASE("multi-node training: places of a text, of which each rank has some") {
  const ScratchDirectory scratch;
  const Values one = train(1, 18, scratch / "1")[0];
  for (const int ranks : {2, 3}) {
    CAPTURE(ranks);
    const std::string name = std::to_string(ranks);
    const std::vector<Values> whole = train(ranks, 18, scratch / name);
    for (const Values& values : whole) CHECK(values == whole[0]);
    CHECK(difference(one, whole[0]) < 1e-4);
    // A rank goes on with the state of its places.
    train(ranks, 12, scratch / (name + "p"));
    CHECK(train(ranks, 18, scratch / (name + "p"))[0] == whole[0]);
  }
  // With another number of ranks the state begins anew.
  train(2, 12, scratch / "other");
  CHECK(difference(one, train(1, 18, scratch / "other")[0]) < 0.5);
}

}  // namespace
}  // namespace kusari::recurrent_training_test
