// Learns the classes of texts with a recurrent network, a convolutional one, or a bag of words.
#include <cstdint>
#include <cstdio>
#include <string>

#include <kusari/kusari.h>
#include <CLI/CLI.hpp>

#include "kusari/examples/precision.h"
#include "kusari/examples/text_classification/nets.h"
#include "kusari/examples/text_classification/texts.h"

using namespace kusari;

namespace {

struct Arguments {
  int64_t batchsize = 64;
  int64_t epoch = 30;
  std::string device = "cpu";
  std::string out = "result";
  std::string resume;
  int64_t unit = 300;
  int64_t layer = 1;
  double dropout = 0.4;
  std::string data = "generated";
  int64_t words = 40000;
  std::string model = "cnn";
  bool char_based = false;
  int64_t seed = -1;
  PrecisionFlags precision;
};

Arguments parse(CLI::App& parser, int argc, char** argv) {
  Arguments args;
  const auto positive = [&](const std::string& name, int64_t& value, const std::string& what) {
    parser.add_option(name, value, what)->check(CLI::PositiveNumber)->capture_default_str();
  };
  positive("-b,--batchsize", args.batchsize, "Number of texts in each mini-batch");
  positive("-e,--epoch", args.epoch, "Number of sweeps over the dataset to train");
  parser.add_option("-d,--device,-g,--gpu", args.device, "cpu, or cuda:N or N for a GPU")->capture_default_str();
  parser.add_option("-o,--out", args.out, "Directory to output the result")->capture_default_str();
  parser.add_option("-r,--resume", args.resume, "Resume the training from this snapshot");
  positive("-u,--unit", args.unit, "Number of units");
  positive("-l,--layer", args.layer, "Number of layers of the recurrent network");
  parser.add_option("--dropout", args.dropout, "Dropout rate")->check(CLI::Range(0.0, 0.99))->capture_default_str();
  parser.add_option("--data", args.data, "generated, or a file with a line for each text: its label, then its words")
      ->capture_default_str();
  positive("--words", args.words, "Words of the vocabulary, the most frequent ones");
  parser.add_option("-m,--model", args.model, "Name of the encoder")
      ->check(CLI::IsMember({"cnn", "rnn", "bow"}))
      ->capture_default_str();
  parser.add_flag("--char-based", args.char_based, "Characters in place of words");
  parser.add_option("--seed", args.seed, "Seed of the random numbers; runs with the same one are the same");
  add_precision_flags(parser, args.precision);
  parser.parse(argc, argv);
  return args;
}

template <class Encoder>
void train(const Arguments& args, const TextCollection& texts) {
  const auto device = get_device(args.device);
  auto model = L::classifier(TextClassifier(Encoder(args.layer, texts.words.size(), args.unit, args.dropout), args.unit,
                                            texts.labels.size(), args.dropout));
  model.to(device);
  optimizers::Adam optimizer;
  optimizer.setup(model);
  optimizer.add_hook(optimizer_hooks::WeightDecay(1e-4));
  const auto session = set_up_precision(args.precision, optimizer);

  iterators::SerialIterator train_iter(texts.train, args.batchsize);
  iterators::SerialIterator test_iter(texts.test, args.batchsize, {.repeat = false, .shuffle = false});
  updaters::StandardUpdater updater(train_iter, optimizer, {.converter = datasets::pack_sequences, .device = device});
  training::Trainer trainer(updater, {args.epoch, "epoch"}, args.out);
  trainer.extend(extensions::Evaluator(test_iter, model, {.converter = datasets::pack_sequences, .device = device}));
  trainer.extend(extensions::snapshot_object(model, "best_model.npz"),
                 {.trigger = triggers::MaxValueTrigger("validation/main/accuracy", {1, "epoch"})});
  trainer.extend(extensions::snapshot({.n_retains = 1}), {.trigger = {1, "epoch"}});
  extensions::LogReport log;
  trainer.extend(log);
  trainer.extend(extensions::PrintReport(
      {"epoch", "main/loss", "validation/main/loss", "main/accuracy", "validation/main/accuracy", "elapsed_time"}));
  trainer.extend(extensions::ProgressBar());
  if (!args.resume.empty()) serializers::load_npz(args.resume, trainer);

  trainer.run();
  std::printf("Test accuracy: %.2f %%\n", 100 * log.last().at("validation/main/accuracy"));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App parser("Kusari example: classes of texts");
  try {
    const Arguments args = parse(parser, argc, argv);
    if (args.seed >= 0) random::seed(static_cast<uint64_t>(args.seed));
    set_dtype(args.precision);
    const TextCollection texts = load_texts(args.data, args.char_based, args.words);
    std::printf("# train data: %lld\n# test  data: %lld\n# vocab: %lld\n# class: %lld\n",
                static_cast<long long>(texts.train.size()), static_cast<long long>(texts.test.size()),
                static_cast<long long>(texts.words.size()), static_cast<long long>(texts.labels.size()));
    if (args.model == "rnn") train<RnnEncoder>(args, texts);
    if (args.model == "cnn") train<CnnEncoder>(args, texts);
    if (args.model == "bow") train<BowEncoder>(args, texts);
    return 0;
  } catch (const CLI::ParseError& error) {
    return parser.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_text_classifier: %s\n", error.what());
    return 1;
  }
}
