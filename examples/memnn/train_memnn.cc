// Learns to answer questions about stories, with a memory that it looks into several times.
#include <cstdint>
#include <cstdio>
#include <string>

#include <kusari/kusari.h>

#include "kusari/examples/common/banner.h"
#include "kusari/examples/memnn/model.h"
#include "kusari/examples/memnn/stories.h"
#include "kusari/examples/training_flags.h"

using namespace kusari;

namespace {

struct Arguments : TrainingArguments {
  Arguments() : TrainingArguments({.batchsize = 100, .epoch = 100}) {}
  std::string train = text("TRAIN", "", "a file of bAbI; none: generated stories", needs("TEST"));
  std::string test = text("TEST", "", "the file with the questions of the test");
  int64_t task =
      number("--task", 1, "what generated stories are like: bAbI's task 1 (moves) or 4 (places)", one_of({1, 4}));
  int64_t unit = count("-u,--unit", 20, "Number of units");
  int64_t hop = count("--hop", 3, "How often memory is looked into");
  int64_t memory = count("--max-memory", 50, "Sentences that are remembered, the last ones");
  std::string encoding =
      choice("--encoding", {"bow", "pe"}, "bow", "bow: bags of words; pe: words count by their places");
};

void train(const Arguments& args) {
  const Device device = get_device(args.device);
  const StoryTask task = load_stories(args.train, args.test, args.task, args.memory);
  const int64_t memory = task.train.arrays()[0].shape(1);
  print_lines({{"# words", task.words.size()},
               {"# sentences", memory},
               {"# training questions", task.train.size()},
               {"# test questions", task.test.size()}});
  const auto encoding = args.encoding == "bow" ? SentenceEncoding::bag_of_words : SentenceEncoding::positions;
  auto model = L::classifier(MemNN(task.words.size(), args.unit, memory, args.hop, encoding));
  model.to(device);
  optimizers::Adam optimizer({.alpha = 0.01});
  optimizer.setup(model);
  optimizer.add_hook(optimizer_hooks::GradientClipping(40));
  const auto session = set_up_precision(args.precision, optimizer);

  iterators::SerialIterator train_iter(task.train, args.batchsize);
  iterators::SerialIterator test_iter(task.test, args.batchsize, {.repeat = false, .shuffle = false});
  updaters::StandardUpdater updater(train_iter, optimizer, {.device = device});
  training::Trainer trainer(updater, {args.epoch, "epoch"}, args.out);
  trainer.extend(extensions::Evaluator(test_iter, model, {.device = device}));
  const auto last = run_training(
      trainer, args,
      {"epoch", "main/loss", "validation/main/loss", "main/accuracy", "validation/main/accuracy", "elapsed_time"});
  std::printf("test accuracy: %.2f %%\n", 100 * last.at("validation/main/accuracy"));
}

}  // namespace

int main(int argc, char** argv) { return run_program<Arguments>(argc, argv, "Kusari example: memory networks", train); }
