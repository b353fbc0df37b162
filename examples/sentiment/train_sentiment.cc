// Learns whether what a sentence and its parts say is good or bad, from trees.
#include <cstdint>
#include <cstdio>
#include <string>

#include <kusari/kusari.h>

#include "kusari/examples/sentiment/nets.h"
#include "kusari/examples/sentiment/trees.h"
#include "kusari/examples/training_flags.h"

using namespace kusari;

namespace {

struct Arguments : TrainingArguments {
  Arguments() : TrainingArguments({.batchsize = 25, .epoch = 20}) {}
  std::string train = text("TRAIN", "", "file with a tree on each line; none: generated ones", needs("TEST"));
  std::string test = text("TEST", "", "trees for the test");
  std::string model = choice("-m,--model", {"recursive", "childsum", "nary"}, "nary",
                             "recursive: Chainer's; childsum, nary: tree LSTMs");
  int64_t unit = count("-u,--unit", 100, "Number of units");
};

template <class Net>
void train(const Arguments& args) {
  const Device device = get_device(args.device);
  const TreeBank trees = load_tree_bank(args.train, args.test);
  std::printf("# words: %lld\n# labels: %lld\n# training trees: %lld\n# test trees: %lld\n",
              static_cast<long long>(trees.words.size()), static_cast<long long>(trees.labels),
              static_cast<long long>(trees.train.size()), static_cast<long long>(trees.test.size()));
  TreeClassifier<Net> model(Net(trees.words.size(), args.unit), args.unit, trees.labels);
  model.to(device);
  optimizers::AdaGrad optimizer({.lr = 0.1});
  optimizer.setup(model);
  optimizer.add_hook(optimizer_hooks::WeightDecay(1e-4));
  const auto session = set_up_precision(args.precision, optimizer);

  iterators::SerialIterator train_iter(trees.train, args.batchsize);
  iterators::SerialIterator test_iter(trees.test, args.batchsize, {.repeat = false, .shuffle = false});
  updaters::StandardUpdater updater(train_iter, optimizer, {.converter = join_trees});
  training::Trainer trainer(updater, {args.epoch, "epoch"}, args.out);
  trainer.extend(extensions::Evaluator(test_iter, model, {.converter = join_trees}));
  for (const std::string prefix : {"main/", "validation/main/"}) {
    for (const std::string what : {"nodes", "roots"}) {
      trainer.extend(extensions::MicroAverage(prefix + "correct_" + what, prefix + what, prefix + "accuracy_" + what));
    }
  }
  const auto last = run_training(trainer, args,
                                 {"epoch", "main/loss", "validation/main/loss", "main/accuracy_nodes",
                                  "validation/main/accuracy_nodes", "validation/main/accuracy_roots", "elapsed_time"});
  std::printf("test accuracy: nodes %.2f %%, roots %.2f %%\n", 100 * last.at("validation/main/accuracy_nodes"),
              100 * last.at("validation/main/accuracy_roots"));
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<Arguments>(argc, argv, "Kusari example: sentiment of trees", [](const Arguments& args) {
    if (args.model == "recursive") train<RecursiveNet>(args);
    if (args.model == "childsum") train<TreeLSTM<L::ChildSumTreeLSTM>>(args);
    if (args.model == "nary") train<TreeLSTM<L::NaryTreeLSTM>>(args);
  });
}
