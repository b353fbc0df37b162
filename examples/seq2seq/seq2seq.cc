// Learns to translate sentences of files, or to write numbers that are spelled out.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/common/flags.h"
#include "kusari/examples/precision.h"
#include "kusari/examples/sentences.h"
#include "kusari/examples/seq2seq/model.h"
#include "kusari/examples/seq2seq/sentences.h"

using namespace kusari;

namespace {

struct Arguments : Flags {
  std::string source = text("SOURCE", "", "source sentence list: a line each; none: spelled numbers", needs("TARGET"));
  std::string target = text("TARGET", "", "target sentence list");
  std::string validation_source =
      text("--validation-source", "", "source sentences for validation", needs("--validation-target"));
  std::string validation_target = text("--validation-target", "", "target sentences for validation");
  int64_t words = count("--words", 40000, "words of each language, the most frequent ones");
  int64_t longest = count("--max-length", 50, "words of a sentence; longer ones are left out");
  int64_t batchsize = count("-b,--batchsize", 64, "number of sentence pairs in each mini-batch");
  int64_t epoch = count("-e,--epoch", 20, "number of sweeps over the dataset to train");
  int64_t unit = count("-u,--unit", 1024, "number of units");
  int64_t layer = count("-l,--layer", 3, "number of layers");
  int64_t beams = count("--beams", 4, "translations that are looked at side by side");
  std::string device = device_flag();
  std::string out = text("-o,--out", "result", "directory to output the result");
  std::string resume = text("-r,--resume", "", "resume the training from this snapshot");
  int64_t seed = seed_flag();
  PrecisionFlags precision = precision_flags(*this);
};

// Translates the validation set, and compares word by word; prints some of them.
void compare_translations(Seq2seq& model, const Corpus& corpus, const Arguments& args, int64_t shown) {
  std::vector<Words> found;
  std::vector<std::vector<Words>> expected;
  const int64_t n = std::min<int64_t>(corpus.validation.size(), 1000);
  if (n == 0) return;
  for (int64_t begin = 0; begin < n; begin += args.batchsize) {
    std::vector<Variable> xs;
    for (int64_t i = begin; i < std::min(begin + args.batchsize, n); ++i) {
      xs.emplace_back(corpus.validation.get(i)[0].to_device(model.device()), false);
      expected.push_back({words_of(corpus.target, corpus.validation.get(i)[2])});
    }
    for (const Array& ids : model.translate(xs, args.beams, args.longest)) {
      found.push_back(words_of(corpus.target, ids));
    }
  }
  for (size_t i = 0; i < static_cast<size_t>(std::min(shown, n)); ++i) {
    const Variable backwards(corpus.validation.get(static_cast<int64_t>(i))[0], false);
    std::printf("# source : %s\n# result : %s\n# expect : %s\n",
                join(words_of(corpus.source, F::flip(backwards, 0).array())).c_str(), join(found[i]).c_str(),
                join(expected[i][0]).c_str());
  }
  std::printf("BLEU: %.4f\nexact translations: %.3f\n",
              metrics::bleu(found, expected, {.smoothing = metrics::BleuSmoothing::epsilon}).score,
              exact_share(found, expected));
}

void train(const Arguments& args) {
  const auto device = get_device(args.device);
  const Corpus corpus = load_corpus(args.source, args.target, args.validation_source, args.validation_target,
                                    args.words, static_cast<size_t>(args.longest));
  std::printf("Source vocabulary: %lld\nTarget vocabulary: %lld\nTrain pairs: %lld\nValidation pairs: %lld\n\n",
              static_cast<long long>(corpus.source.size()), static_cast<long long>(corpus.target.size()),
              static_cast<long long>(corpus.train.size()), static_cast<long long>(corpus.validation.size()));

  Seq2seq model(args.layer, corpus.source.size(), corpus.target.size(), args.unit);
  model.to(device);
  optimizers::Adam optimizer;
  optimizer.setup(model);
  const auto session = set_up_precision(args.precision, optimizer);

  // Sentences of about equal lengths together
  iterators::SerialIterator train_iter(
      corpus.train, args.batchsize,
      {.order_sampler = iterators::BucketOrderSampler(corpus.train.lengths(), args.batchsize)});
  iterators::SerialIterator val_iter(corpus.validation, args.batchsize, {.repeat = false, .shuffle = false});
  updaters::StandardUpdater updater(train_iter, optimizer, {.converter = datasets::pack_sequences, .device = device});
  training::Trainer trainer(updater, {args.epoch, "epoch"}, args.out);
  trainer.extend(extensions::Evaluator(val_iter, model, {.converter = datasets::pack_sequences, .device = device}));
  trainer.extend(extensions::LogReport());
  trainer.extend(extensions::PrintReport(
      {"epoch", "iteration", "main/loss", "main/perp", "validation/main/perp", "elapsed_time"}));
  trainer.extend(extensions::snapshot({.n_retains = 1}), {.trigger = {1, "epoch"}});
  trainer.extend(extensions::ProgressBar());
  if (!args.resume.empty()) serializers::load_npz(args.resume, trainer);

  trainer.run();

  compare_translations(model, corpus, args, 3);
  serializers::save_npz((std::filesystem::path(args.out) / "seq2seq.model").string(), model);
}

}  // namespace

int main(int argc, char** argv) { return run_program<Arguments>(argc, argv, "Kusari example: seq2seq", train); }
