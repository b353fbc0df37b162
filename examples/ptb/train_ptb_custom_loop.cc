// train_ptb with the loop written out: what BPTTUpdater does, by hand.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

#include <kusari/kusari.h>
#include <CLI/CLI.hpp>

#include "kusari/examples/ptb/corpus.h"
#include "kusari/examples/ptb/models.h"

using namespace kusari;

namespace {

struct Arguments {
  int64_t batchsize = 20;
  int64_t bproplen = 35;
  int64_t epoch = 39;
  std::string device = "cpu";
  double gradclip = 5;
  std::string out = "result";
  bool test = false;
  int64_t unit = 650;
  std::string model = "model.npz";
  std::string layers = "lstm";
  std::string data = "auto";
  int64_t seed = -1;
};

Arguments parse(CLI::App& parser, int argc, char** argv) {
  Arguments args;
  parser.add_option("-b,--batchsize", args.batchsize, "Number of places of the text in each mini-batch")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  parser.add_option("-l,--bproplen", args.bproplen, "Number of words in each mini-batch (length of truncated BPTT)")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  parser.add_option("-e,--epoch", args.epoch, "Number of sweeps over the dataset to train")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  parser.add_option("-d,--device,-g,--gpu", args.device, "cpu, or cuda:N or N for a GPU")->capture_default_str();
  parser.add_option("-c,--gradclip", args.gradclip, "Gradient norm threshold to clip")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  parser.add_option("-o,--out", args.out, "Directory to output the result")->capture_default_str();
  parser.add_flag("--test", args.test, "Use tiny datasets for quick tests");
  parser.add_option("-u,--unit", args.unit, "Number of LSTM units in each layer")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  parser.add_option("-m,--model", args.model, "Model file name to serialize, in the output directory")
      ->capture_default_str();
  parser.add_option("--layers", args.layers, "What the two layers are; tanh: an Elman network")
      ->check(CLI::IsMember(kLayers))
      ->capture_default_str();
  parser.add_option("--data", args.data, "ptb, wikitext2, generated, a file of words, or auto: the first there is")
      ->capture_default_str();
  parser.add_option("--seed", args.seed, "Seed of the random numbers; runs with the same one are the same");
  parser.parse(argc, argv);
  return args;
}

template <class Model>
void train(const Arguments& args, const Corpus& corpus, Model& model) {
  const auto device = get_device(args.device);
  const int64_t most = args.test ? 100 : corpus.texts.train.size();
  const auto some = [&](const Array& text) { return text.slice(0, 0, std::min(most, text.size())); };
  model.to(device);

  // Set up an optimizer
  optimizers::SGD optimizer({.lr = 1});
  optimizer.setup(model);
  optimizer.add_hook(optimizer_hooks::GradientClipping(args.gradclip));

  // One time of all places with each batch, as in Chainer
  iterators::ParallelSequentialIterator train_iter(some(corpus.texts.train), args.batchsize);

  double sum_perp = 0;
  int64_t count = 0, iteration = 0;
  while (train_iter.epoch() < args.epoch) {
    ++iteration;
    // Progress the dataset iterator for bprop_len words: (bproplen, batchsize)
    std::vector<Variable> words, next_words;
    for (int64_t i = 0; i < args.bproplen; ++i) {
      const auto batch = datasets::concat_examples(train_iter.next(), device);
      words.emplace_back(batch[0], false);
      next_words.emplace_back(batch[1], false);
    }
    // The loss of this step alone: the state goes on, its gradients end here
    unchain_states(model);
    optimizer.update([&] {
      const Variable loss = model(F::stack(words, 0), F::stack(next_words, 0));
      sum_perp += loss.template item<double>();
      ++count;
      return loss * static_cast<double>(args.bproplen);
    });
    if (iteration % 20 == 0) {
      std::printf("iteration: %lld\ntraining perplexity: %g\n", static_cast<long long>(iteration),
                  std::exp(sum_perp / static_cast<double>(count)));
      sum_perp = 0, count = 0;
    }
    if (train_iter.is_new_epoch()) {
      std::printf("epoch: %lld\nvalidation perplexity: %g\n", static_cast<long long>(train_iter.epoch()),
                  perplexity(model, some(corpus.texts.valid), args.bproplen));
    }
  }

  // Evaluate on test dataset
  std::printf("test\ntest perplexity: %g\n", perplexity(model, some(corpus.texts.test), args.bproplen));

  // Save the model
  std::printf("save the model\n");
  std::filesystem::create_directories(args.out);
  serializers::save_npz((std::filesystem::path(args.out) / args.model).string(), model);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App parser("Kusari example: a recurrent language model with a training loop written out");
  try {
    const Arguments args = parse(parser, argc, argv);
    if (args.seed >= 0) random::seed(static_cast<uint64_t>(args.seed));
    const Corpus corpus = load_corpus(args.data);
    std::printf("#vocab = %lld\n", static_cast<long long>(corpus.vocabulary.size()));
    with_model(args.layers, corpus.vocabulary.size(), args.unit, [&](auto& model) { train(args, corpus, model); });
    return 0;
  } catch (const CLI::ParseError& error) {
    return parser.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_ptb_custom_loop: %s\n", error.what());
    return 1;
  }
}
