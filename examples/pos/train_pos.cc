// Learns which part of speech each word of a sentence is.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/pos/model.h"
#include "kusari/examples/pos/sentences.h"
#include "kusari/examples/training_flags.h"

using namespace kusari;

namespace {

struct Arguments : TrainingArguments {
  Arguments() : TrainingArguments({.batchsize = 30, .epoch = 20}) {}
  std::string train = text("TRAIN", "", "tagged sentences; none: generated ones");
  std::string validation = text("VALIDATION", "", "tagged sentences for validation; none: the last tenth of TRAIN");
  std::string format = choice("--format", {"slashes", "columns", "conllu"}, "columns",
                              "slashes: the/DET dog/NOUN; columns, as CoNLL-2000 has them; or conllu");
  std::string model =
      choice("-m,--model", {"lstm", "words"}, "lstm", "lstm, or words: each word alone, as in Chainer's example");
  int64_t min_count = count("--min-count", 2, "Words that come more rarely are one");
  int64_t unit = count("-u,--unit", 128, "Number of units");
  int64_t layer = count("-l,--layer", 1, "Number of layers");
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
  const Device device = get_device(args.device);
  const TaggedCorpus corpus = load_tagged_corpus(args.train, args.validation, args.format, args.min_count);
  std::printf("# words: %lld\n# tags: %lld\n# training sentences: %lld\n# validation sentences: %lld\n",
              static_cast<long long>(corpus.words.size()), static_cast<long long>(corpus.tags.size()),
              static_cast<long long>(corpus.train.size()), static_cast<long long>(corpus.validation.size()));
  Tagger<Scores> model(Scores(corpus.words.size(), corpus.tags.size(), args.unit, args.layer), corpus.tags.size());
  model.to(device);
  optimizers::Adam optimizer;
  optimizer.setup(model);
  optimizer.add_hook(optimizer_hooks::WeightDecay(1e-4));
  const auto session = set_up_precision(args.precision, optimizer);

  iterators::SerialIterator train_iter(corpus.train, args.batchsize);
  iterators::SerialIterator val_iter(corpus.validation, args.batchsize, {.repeat = false, .shuffle = false});
  updaters::StandardUpdater updater(train_iter, optimizer, {.converter = datasets::pack_sequences, .device = device});
  training::Trainer trainer(updater, {args.epoch, "epoch"}, args.out);
  trainer.extend(extensions::Evaluator(val_iter, model, {.converter = datasets::pack_sequences, .device = device}));
  trainer.extend(extensions::MicroAverage("main/correct", "main/total", "main/accuracy"));
  trainer.extend(
      extensions::MicroAverage("validation/main/correct", "validation/main/total", "validation/main/accuracy"));
  const auto last = run_training(
      trainer, args,
      {"epoch", "main/loss", "validation/main/loss", "main/accuracy", "validation/main/accuracy", "elapsed_time"});
  show(model, corpus, 3);
  std::printf("validation accuracy: %.2f %%\n", 100 * last.at("validation/main/accuracy"));
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<Arguments>(argc, argv, "Kusari example: part-of-speech tagging", [](const Arguments& args) {
    args.model == "lstm" ? train<ContextScores>(args) : train<WordScores>(args);
  });
}
