// Learns the classes of texts with a recurrent network, a convolutional one, or a bag of words.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

#include <kusari/kusari.h>

#include "kusari/examples/common/banner.h"
#include "kusari/examples/common/flags.h"
#include "kusari/examples/precision.h"
#include "kusari/examples/text_classification/nets.h"
#include "kusari/examples/text_classification/reading.h"
#include "kusari/examples/text_classification/texts.h"

using namespace kusari;

namespace {

struct Arguments : Flags {
  int64_t batchsize = count("-b,--batchsize", 64, "Number of texts in each mini-batch");
  int64_t epoch = count("-e,--epoch", 30, "Number of sweeps over the dataset to train");
  std::string device = device_flag();
  std::string out = out_flag();
  std::string resume = resume_flag();
  int64_t unit = count("-u,--unit", 300, "Number of units");
  int64_t layer = count("-l,--layer", 1, "Number of layers of the recurrent network");
  double dropout = real("--dropout", 0.4, "Dropout rate", between(0.0, 0.99));
  std::string data =
      text("--data", "generated", "generated, or a file with a line for each text: its label, then its words");
  int64_t words = count("--words", 40000, "Words of the vocabulary, the most frequent ones");
  std::string model = choice("-m,--model", {"cnn", "rnn", "bow"}, "cnn", "Name of the encoder");
  bool char_based = flag("--char-based", "Characters in place of words");
  int64_t seed = seed_flag();
  PrecisionFlags precision = precision_flags(*this);
};

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

void train_encoder(const Arguments& args) {
  const TextCollection texts = load_texts(args.data, args.char_based, args.words);
  print_lines({{"# train data", texts.train.size()},
               {"# test  data", texts.test.size()},
               {"# vocab", texts.words.size()},
               {"# class", texts.labels.size()}});
  std::filesystem::create_directories(args.out);
  const Reading reading{args.model, args.layer, args.unit, args.char_based, texts.words, texts.labels};
  reading.save((std::filesystem::path(args.out) / "reading.npz").string());
  with_encoder(args.model, [&]<class Encoder>() { train<Encoder>(args, texts); });
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<Arguments>(argc, argv, "Kusari example: classes of texts", train_encoder);
}
