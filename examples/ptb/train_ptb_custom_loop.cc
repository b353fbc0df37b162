// train_ptb with the loop written out: what BPTTUpdater does, by hand.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>

#include <kusari/kusari.h>

#include "kusari/examples/ptb/corpus.h"
#include "kusari/examples/ptb/flags.h"
#include "kusari/examples/ptb/models.h"

using namespace kusari;

namespace {

struct Arguments : PtbFlags {
  std::string device = device_flag();
};

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

void train_layers(const Arguments& args) {
  const Corpus corpus = load_corpus(args.data);
  std::cout << "#vocab = " << corpus.vocabulary.size() << '\n';
  with_model(args.layers, corpus.vocabulary.size(), args.unit, [&](auto& model) { train(args, corpus, model); });
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<Arguments>(
      argc, argv, "Kusari example: a recurrent language model with a training loop written out", train_layers);
}
