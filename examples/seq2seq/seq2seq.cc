// Learns to translate sentences of files, or to write numbers that are spelled out.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <kusari/kusari.h>
#include <CLI/CLI.hpp>

#include "kusari/examples/precision.h"
#include "kusari/examples/sentences.h"
#include "kusari/examples/seq2seq/model.h"
#include "kusari/examples/seq2seq/sentences.h"

using namespace kusari;

namespace {

struct Arguments {
  std::string source, target, validation_source, validation_target;
  int64_t words = 40000;
  int64_t longest = 50;
  int64_t batchsize = 64;
  int64_t epoch = 20;
  int64_t unit = 1024;
  int64_t layer = 3;
  int64_t beams = 4;
  std::string device = "cpu";
  std::string out = "result";
  std::string resume;
  int64_t seed = -1;
  PrecisionFlags precision;
};

Arguments parse(CLI::App& parser, int argc, char** argv) {
  Arguments args;
  const auto positive = [&](const std::string& name, int64_t& value, const std::string& what) {
    parser.add_option(name, value, what)->check(CLI::PositiveNumber)->capture_default_str();
  };
  auto* source = parser.add_option("SOURCE", args.source, "source sentence list: a line each; none: spelled numbers");
  auto* target = parser.add_option("TARGET", args.target, "target sentence list");
  source->needs(target);
  auto* validation =
      parser.add_option("--validation-source", args.validation_source, "source sentences for validation");
  validation->needs(
      parser.add_option("--validation-target", args.validation_target, "target sentences for validation"));
  positive("--words", args.words, "words of each language, the most frequent ones");
  positive("--max-length", args.longest, "words of a sentence; longer ones are left out");
  positive("-b,--batchsize", args.batchsize, "number of sentence pairs in each mini-batch");
  positive("-e,--epoch", args.epoch, "number of sweeps over the dataset to train");
  positive("-u,--unit", args.unit, "number of units");
  positive("-l,--layer", args.layer, "number of layers");
  positive("--beams", args.beams, "translations that are looked at side by side");
  parser.add_option("-d,--device,-g,--gpu", args.device, "cpu, or cuda:N or N for a GPU")->capture_default_str();
  parser.add_option("-o,--out", args.out, "directory to output the result")->capture_default_str();
  parser.add_option("-r,--resume", args.resume, "resume the training from this snapshot");
  parser.add_option("--seed", args.seed, "seed of the random numbers; runs with the same one are the same");
  add_precision_flags(parser, args.precision);
  parser.parse(argc, argv);
  return args;
}

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
  if (args.seed >= 0) random::seed(static_cast<uint64_t>(args.seed));
  const auto device = get_device(args.device);
  set_dtype(args.precision);
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

int main(int argc, char** argv) {
  CLI::App parser("Kusari example: seq2seq");
  try {
    train(parse(parser, argc, argv));
    return 0;
  } catch (const CLI::ParseError& error) {
    return parser.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "seq2seq: %s\n", error.what());
    return 1;
  }
}
