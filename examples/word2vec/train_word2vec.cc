// Learns vectors of words from the words around them: the skip-gram model and the continuous bag of words of Mikolov et
// al. 2013. `search` then finds words whose vectors are near.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/common/banner.h"
#include "kusari/examples/common/flags.h"
#include "kusari/examples/word2vec/corpus.h"
#include "kusari/examples/word2vec/models.h"
#include "kusari/examples/word2vec/window_iterator.h"

using namespace kusari;

namespace {

struct Arguments : Flags {
  std::string device = device_flag();
  int64_t unit = count("-u,--unit", 100, "Number of units");
  int64_t window = number("-w,--window", 5, "Window size", between(2, 1000));
  int64_t batchsize = count("-b,--batchsize", 1000, "Learning minibatch size");
  int64_t epoch = count("-e,--epoch", 20, "Number of epochs to learn");
  std::string model = choice("-m,--model", {"skipgram", "cbow"}, "skipgram", "Model type");
  int64_t negative_size = count("--negative-size", 5, "Number of negative samples");
  std::string out_type =
      choice("-o,--out-type", {"hsm", "ns", "original"}, "hsm",
             "Output model type: hsm (hierarchical softmax), ns (negative sampling), original (no approximation)");
  std::string out = text("--out", "result", "Directory to output the result");
  std::string resume = resume_flag();
  int64_t snapshot_interval = number("--snapshot-interval", -1, "Epochs between two snapshots (-1: one at the end)");
  bool test = flag("--test", "Learn from 100 words");
  std::string data = text("--data", "auto", "A file of words, ptb, generated, or auto: the first text that there is");
  int64_t seed = seed_flag();
};

// The link that tells words from vectors of args.unit numbers.
AnyLink make_loss(const Arguments& args, const datasets::Vocabulary& vocabulary) {
  if (args.out_type == "original") return SoftmaxCrossEntropyLoss(args.unit, vocabulary.size());
  if (args.out_type == "ns") return L::NegativeSampling(args.unit, vocabulary.counts(), args.negative_size);
  std::vector<std::pair<int64_t, double>> counts;
  for (int64_t word = 0; word < vocabulary.size(); ++word) {
    counts.emplace_back(word, static_cast<double>(vocabulary.count(word)));
  }
  const auto tree = L::BinaryHierarchicalSoftmax::create_huffman_tree(counts);
  return L::BinaryHierarchicalSoftmax(args.unit, tree, {.initial_w = 0});
}

// Text of word2vec's format: the numbers of words and of units, then a line for each word.
void save_vectors(const std::string& path, const datasets::Vocabulary& vocabulary, const Array& vectors) {
  std::ofstream file(path);
  const int64_t units = vectors.shape(1);
  const std::vector<float> values = vectors.to_vector<float>();
  file.precision(9);
  file << vocabulary.size() << ' ' << units << '\n';
  for (int64_t word = 0; word < vocabulary.size(); ++word) {
    file << vocabulary.word(word);
    for (int64_t i = 0; i < units; ++i) file << ' ' << values[static_cast<size_t>(word * units + i)];
    file << '\n';
  }
  if (!file.flush()) throw IoError("cannot write " + path);
}

template <class Model>
void train(const Arguments& args, const Device& device, Corpus corpus) {
  Model model(corpus.vocabulary.size(), args.unit, make_loss(args, corpus.vocabulary));
  model.to(device);

  // Set up an optimizer
  optimizers::Adam optimizer;
  optimizer.setup(model);

  // Set up iterators, an updater and a trainer
  WindowIterator train_iter(std::move(corpus.train), args.window, args.batchsize);
  WindowIterator val_iter(std::move(corpus.val), args.window, args.batchsize, false);
  updaters::StandardUpdater updater(train_iter, optimizer, {.converter = convert_window, .device = device});
  training::Trainer trainer(updater, {args.epoch, "epoch"}, args.out);

  trainer.extend(extensions::Evaluator(val_iter, model, {.converter = convert_window, .device = device}));
  trainer.extend(extensions::LogReport());
  trainer.extend(extensions::PrintReport({"epoch", "main/loss", "validation/main/loss", "elapsed_time"}));
  trainer.extend(extensions::ProgressBar());
  const int64_t interval = args.snapshot_interval > 0 ? std::min(args.snapshot_interval, args.epoch) : args.epoch;
  trainer.extend(extensions::snapshot({.filename = "snapshot_epoch_{.updater.epoch}"}),
                 {.trigger = {interval, "epoch"}});

  if (!args.resume.empty()) serializers::load_npz(args.resume, trainer);
  trainer.run();

  save_vectors((std::filesystem::path(args.out) / "word2vec.model").string(), corpus.vocabulary, model.embed.W.array());
}

void run(const Arguments& args) {
  const auto device = get_device(args.device);
  print_banner({{"Device", device},
                {"# unit", args.unit},
                {"Window", args.window},
                {"Minibatch-size", args.batchsize},
                {"# epoch", args.epoch},
                {"Training model", args.model},
                {"Output type", args.out_type}});

  Corpus corpus = load_corpus(args.data);
  if (args.test) {
    for (auto* const text : {&corpus.train, &corpus.val}) text->resize(std::min<size_t>(text->size(), 100));
  }
  std::printf("n_vocab: %lld\n", static_cast<long long>(corpus.vocabulary.size()));
  std::printf("data length: %zu\n", corpus.train.size());

  if (args.model == "skipgram") {
    train<SkipGram>(args, device, std::move(corpus));
  } else {
    train<ContinuousBoW>(args, device, std::move(corpus));
  }
}

}  // namespace

int main(int argc, char** argv) { return run_program<Arguments>(argc, argv, "Kusari example: word2vec", run); }
