// Learns which part of speech each word of a sentence is.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <kusari/kusari.h>
#include <CLI/CLI.hpp>

#include "kusari/examples/pos/model.h"
#include "kusari/examples/pos/sentences.h"
#include "kusari/examples/training_flags.h"

using namespace kusari;

namespace {

struct Arguments {
  TrainingFlags training{.batchsize = 30, .epoch = 20};
  std::string train, validation;
  std::string format = "columns";
  std::string model = "lstm";
  int64_t min_count = 2;
  int64_t unit = 128;
  int64_t layer = 1;
};

template <class Model>
void show(const Model& model, const TaggedCorpus& corpus, int64_t count) {
  for (int64_t i = 0; i < std::min(count, corpus.validation.size()); ++i) {
    const Array ids = corpus.validation.get(i)[0];
    const std::vector<std::string> words = corpus.words.decode(ids), tags = corpus.tags.decode(model.tag(ids));
    for (size_t k = 0; k < words.size(); ++k) std::printf("%s/%s ", words[k].c_str(), tags[k].c_str());
    std::puts("");
  }
}

template <class Scores>
void train(const Arguments& args) {
  const TrainingFlags& flags = args.training;
  const Device device = begin_training(flags);
  const TaggedCorpus corpus = load_tagged_corpus(args.train, args.validation, args.format, args.min_count);
  std::printf("# words: %lld\n# tags: %lld\n# training sentences: %lld\n# validation sentences: %lld\n",
              static_cast<long long>(corpus.words.size()), static_cast<long long>(corpus.tags.size()),
              static_cast<long long>(corpus.train.size()), static_cast<long long>(corpus.validation.size()));
  Tagger<Scores> model(Scores(corpus.words.size(), corpus.tags.size(), args.unit, args.layer), corpus.tags.size());
  model.to(device);
  optimizers::Adam optimizer;
  optimizer.setup(model);
  optimizer.add_hook(optimizer_hooks::WeightDecay(1e-4));
  const auto session = set_up_precision(flags.precision, optimizer);

  iterators::SerialIterator train_iter(corpus.train, flags.batchsize);
  iterators::SerialIterator val_iter(corpus.validation, flags.batchsize, {.repeat = false, .shuffle = false});
  updaters::StandardUpdater updater(train_iter, optimizer, {.converter = datasets::pack_sequences, .device = device});
  training::Trainer trainer(updater, {flags.epoch, "epoch"}, flags.out);
  trainer.extend(extensions::Evaluator(val_iter, model, {.converter = datasets::pack_sequences, .device = device}));
  trainer.extend(extensions::MicroAverage("main/correct", "main/total", "main/accuracy"));
  trainer.extend(
      extensions::MicroAverage("validation/main/correct", "validation/main/total", "validation/main/accuracy"));
  const auto last = run_training(
      trainer, flags,
      {"epoch", "main/loss", "validation/main/loss", "main/accuracy", "validation/main/accuracy", "elapsed_time"});
  show(model, corpus, 3);
  std::printf("validation accuracy: %.2f %%\n", 100 * last.at("validation/main/accuracy"));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App parser("Kusari example: part-of-speech tagging");
  Arguments args;
  parser.add_option("TRAIN", args.train, "tagged sentences; none: generated ones");
  parser.add_option("VALIDATION", args.validation, "tagged sentences for validation; none: the last tenth of TRAIN");
  parser.add_option("--format", args.format, "slashes: the/DET dog/NOUN; columns, as CoNLL-2000 has them; or conllu")
      ->check(CLI::IsMember({"slashes", "columns", "conllu"}))
      ->capture_default_str();
  parser.add_option("-m,--model", args.model, "lstm, or words: each word alone, as in Chainer's example")
      ->check(CLI::IsMember({"lstm", "words"}))
      ->capture_default_str();
  add_count(parser, "--min-count", args.min_count, "Words that come more rarely are one");
  add_count(parser, "-u,--unit", args.unit, "Number of units");
  add_count(parser, "-l,--layer", args.layer, "Number of layers");
  add_training_flags(parser, args.training);
  return run_program("train_pos", parser, argc, argv,
                     [&] { args.model == "lstm" ? train<ContextScores>(args) : train<WordScores>(args); });
}
