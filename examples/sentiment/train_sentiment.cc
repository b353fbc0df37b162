// Learns whether what a sentence and its parts say is good or bad, from trees.
#include <cstdint>
#include <cstdio>
#include <string>

#include <kusari/kusari.h>
#include <CLI/CLI.hpp>

#include "kusari/examples/sentiment/nets.h"
#include "kusari/examples/sentiment/trees.h"
#include "kusari/examples/training_flags.h"

using namespace kusari;

namespace {

struct Arguments {
  TrainingFlags training{.batchsize = 25, .epoch = 20};
  std::string train, test;
  std::string model = "nary";
  int64_t unit = 100;
};

template <class Net>
void train(const Arguments& args) {
  const TrainingFlags& flags = args.training;
  const Device device = begin_training(flags);
  const TreeBank trees = load_tree_bank(args.train, args.test);
  std::printf("# words: %lld\n# labels: %lld\n# training trees: %lld\n# test trees: %lld\n",
              static_cast<long long>(trees.words.size()), static_cast<long long>(trees.labels),
              static_cast<long long>(trees.train.size()), static_cast<long long>(trees.test.size()));
  TreeClassifier<Net> model(Net(trees.words.size(), args.unit), args.unit, trees.labels);
  model.to(device);
  optimizers::AdaGrad optimizer({.lr = 0.1});
  optimizer.setup(model);
  optimizer.add_hook(optimizer_hooks::WeightDecay(1e-4));
  const auto session = set_up_precision(flags.precision, optimizer);

  iterators::SerialIterator train_iter(trees.train, flags.batchsize);
  iterators::SerialIterator test_iter(trees.test, flags.batchsize, {.repeat = false, .shuffle = false});
  updaters::StandardUpdater updater(train_iter, optimizer, {.converter = join_trees});
  training::Trainer trainer(updater, {flags.epoch, "epoch"}, flags.out);
  trainer.extend(extensions::Evaluator(test_iter, model, {.converter = join_trees}));
  for (const std::string prefix : {"main/", "validation/main/"}) {
    for (const std::string what : {"nodes", "roots"}) {
      trainer.extend(extensions::MicroAverage(prefix + "correct_" + what, prefix + what, prefix + "accuracy_" + what));
    }
  }
  const auto last = run_training(trainer, flags,
                                 {"epoch", "main/loss", "validation/main/loss", "main/accuracy_nodes",
                                  "validation/main/accuracy_nodes", "validation/main/accuracy_roots", "elapsed_time"});
  std::printf("test accuracy: nodes %.2f %%, roots %.2f %%\n", 100 * last.at("validation/main/accuracy_nodes"),
              100 * last.at("validation/main/accuracy_roots"));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App parser("Kusari example: sentiment of trees");
  Arguments args;
  auto* trees = parser.add_option("TRAIN", args.train, "file with a tree on each line; none: generated ones");
  trees->needs(parser.add_option("TEST", args.test, "trees for the test"));
  parser.add_option("-m,--model", args.model, "recursive: Chainer's; childsum, nary: tree LSTMs")
      ->check(CLI::IsMember({"recursive", "childsum", "nary"}))
      ->capture_default_str();
  add_count(parser, "-u,--unit", args.unit, "Number of units");
  add_training_flags(parser, args.training);
  return run_program("train_sentiment", parser, argc, argv, [&] {
    if (args.model == "recursive") train<RecursiveNet>(args);
    if (args.model == "childsum") train<TreeLSTM<L::ChildSumTreeLSTM>>(args);
    if (args.model == "nary") train<TreeLSTM<L::NaryTreeLSTM>>(args);
  });
}
