// Learns to answer questions about stories, with a memory that it looks into several times.
#include <cstdint>
#include <cstdio>
#include <string>

#include <kusari/kusari.h>
#include <CLI/CLI.hpp>

#include "kusari/examples/memnn/model.h"
#include "kusari/examples/memnn/stories.h"
#include "kusari/examples/training_flags.h"

using namespace kusari;

namespace {

struct Arguments {
  TrainingFlags training{.batchsize = 100, .epoch = 100};
  std::string train, test;
  int64_t task = 1;
  int64_t unit = 20;
  int64_t hop = 3;
  int64_t memory = 50;
  std::string encoding = "bow";
};

void train(const Arguments& args) {
  const TrainingFlags& flags = args.training;
  const Device device = begin_training(flags);
  const StoryTask task = load_stories(args.train, args.test, args.task, args.memory);
  const int64_t memory = task.train.arrays()[0].shape(1);
  std::printf("# words: %lld\n# sentences: %lld\n# training questions: %lld\n# test questions: %lld\n",
              static_cast<long long>(task.words.size()), static_cast<long long>(memory),
              static_cast<long long>(task.train.size()), static_cast<long long>(task.test.size()));
  const auto encoding = args.encoding == "bow" ? SentenceEncoding::bag_of_words : SentenceEncoding::positions;
  auto model = L::classifier(MemNN(task.words.size(), args.unit, memory, args.hop, encoding));
  model.to(device);
  optimizers::Adam optimizer({.alpha = 0.01});
  optimizer.setup(model);
  optimizer.add_hook(optimizer_hooks::GradientClipping(40));
  const auto session = set_up_precision(flags.precision, optimizer);

  iterators::SerialIterator train_iter(task.train, flags.batchsize);
  iterators::SerialIterator test_iter(task.test, flags.batchsize, {.repeat = false, .shuffle = false});
  updaters::StandardUpdater updater(train_iter, optimizer, {.device = device});
  training::Trainer trainer(updater, {flags.epoch, "epoch"}, flags.out);
  trainer.extend(extensions::Evaluator(test_iter, model, {.device = device}));
  const auto last = run_training(
      trainer, flags,
      {"epoch", "main/loss", "validation/main/loss", "main/accuracy", "validation/main/accuracy", "elapsed_time"});
  std::printf("test accuracy: %.2f %%\n", 100 * last.at("validation/main/accuracy"));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App parser("Kusari example: memory networks");
  Arguments args;
  auto* stories = parser.add_option("TRAIN", args.train, "a file of bAbI; none: generated stories");
  stories->needs(parser.add_option("TEST", args.test, "the file with the questions of the test"));
  parser.add_option("--task", args.task, "what generated stories are like: bAbI's task 1 (moves) or 4 (places)")
      ->check(CLI::IsMember({1, 4}))
      ->capture_default_str();
  add_count(parser, "-u,--unit", args.unit, "Number of units");
  add_count(parser, "--hop", args.hop, "How often memory is looked into");
  add_count(parser, "--max-memory", args.memory, "Sentences that are remembered, the last ones");
  parser.add_option("--encoding", args.encoding, "bow: bags of words; pe: words count by their places")
      ->check(CLI::IsMember({"bow", "pe"}))
      ->capture_default_str();
  add_training_flags(parser, args.training);
  return run_program("train_memnn", parser, argc, argv, [&] { train(args); });
}
