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
#include <CLI/CLI.hpp>

#include "kusari/examples/word2vec/corpus.h"
#include "kusari/examples/word2vec/models.h"
#include "kusari/examples/word2vec/window_iterator.h"

using namespace kusari;

namespace {

struct Arguments {
  std::string device = "cpu";
  int64_t unit = 100;
  int64_t window = 5;
  int64_t batchsize = 1000;
  int64_t epoch = 20;
  std::string model = "skipgram";
  int64_t negative_size = 5;
  std::string out_type = "hsm";
  std::string out = "result";
  std::string resume;
  int64_t snapshot_interval = -1;
  bool test = false;
  std::string data = "auto";
  int64_t seed = -1;
};

Arguments parse(CLI::App& parser, int argc, char** argv) {
  Arguments args;
  parser.add_option("-d,--device,-g,--gpu", args.device, "cpu, or cuda:N or N for a GPU")->capture_default_str();
  parser.add_option("-u,--unit", args.unit, "Number of units")->check(CLI::PositiveNumber)->capture_default_str();
  parser.add_option("-w,--window", args.window, "Window size")->check(CLI::Range(2, 1000))->capture_default_str();
  parser.add_option("-b,--batchsize", args.batchsize, "Learning minibatch size")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  parser.add_option("-e,--epoch", args.epoch, "Number of epochs to learn")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  parser.add_option("-m,--model", args.model, "Model type")
      ->check(CLI::IsMember({"skipgram", "cbow"}))
      ->capture_default_str();
  parser.add_option("--negative-size", args.negative_size, "Number of negative samples")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  parser
      .add_option("-o,--out-type", args.out_type,
                  "Output model type: hsm (hierarchical softmax), ns (negative sampling), original (no approximation)")
      ->check(CLI::IsMember({"hsm", "ns", "original"}))
      ->capture_default_str();
  parser.add_option("--out", args.out, "Directory to output the result")->capture_default_str();
  parser.add_option("-r,--resume", args.resume, "Resume the training from this snapshot");
  parser.add_option("--snapshot-interval", args.snapshot_interval, "Epochs between two snapshots (-1: one at the end)");
  parser.add_flag("--test", args.test, "Learn from 100 words");
  parser.add_option("--data", args.data, "A file of words, ptb, generated, or auto: the first text that there is")
      ->capture_default_str();
  parser.add_option("--seed", args.seed, "Seed of the random numbers; runs with the same one are the same");
  parser.parse(argc, argv);
  return args;
}

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
  if (args.seed >= 0) random::seed(static_cast<uint64_t>(args.seed));
  const auto device = get_device(args.device);
  std::printf("Device: %s\n", device.name().c_str());
  std::printf("# unit: %lld\n", static_cast<long long>(args.unit));
  std::printf("Window: %lld\n", static_cast<long long>(args.window));
  std::printf("Minibatch-size: %lld\n", static_cast<long long>(args.batchsize));
  std::printf("# epoch: %lld\n", static_cast<long long>(args.epoch));
  std::printf("Training model: %s\n", args.model.c_str());
  std::printf("Output type: %s\n\n", args.out_type.c_str());

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

int main(int argc, char** argv) {
  CLI::App parser("Kusari example: word2vec");
  try {
    run(parse(parser, argc, argv));
    return 0;
  } catch (const CLI::ParseError& error) {
    return parser.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_word2vec: %s\n", error.what());
    return 1;
  }
}
