// Trains a recurrent language model on the words of a text with truncated backpropagation through time.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>

#include <kusari/kusari.h>

#include "kusari/examples/precision.h"
#include "kusari/examples/ptb/corpus.h"
#include "kusari/examples/ptb/flags.h"
#include "kusari/examples/ptb/models.h"

using namespace kusari;

namespace {

struct Arguments : PtbTrainerFlags {
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
  const auto session = set_up_precision(args.precision, optimizer);

  iterators::ParallelSequentialIterator train_iter(some(corpus.texts.train), args.batchsize, {.window = args.bproplen});
  iterators::ParallelSequentialIterator val_iter(some(corpus.texts.valid), 1,
                                                 {.repeat = false, .window = args.bproplen});

  // The state goes on from step to step, gradients end where a step begins. Chainer's example adds the losses of all
  // words of a step, and clips the gradient of that sum.
  updaters::BPTTUpdater updater(
      train_iter, optimizer,
      {.device = device,
       .loss_func = [&](const Variable& x, const Variable& t) { return model(x, t) * static_cast<double>(x.shape(0)); },
       .static_graph = args.static_graph});
  training::Trainer trainer(updater, {args.epoch, "epoch"}, args.out);

  // Evaluate with the same parameters and a state of its own
  Model eval_model = copy(model, CopyMode::share);
  const int64_t interval = args.test ? 10 : 500;
  trainer.extend(extensions::Evaluator(val_iter, eval_model,
                                       {.device = device, .eval_hook = [&](auto&) { reset_states(eval_model); }}));
  trainer.extend(extensions::LogReport({.trigger = {interval, "iteration"}, .postprocess = add_perplexity}));
  trainer.extend(extensions::PrintReport({"epoch", "iteration", "perplexity", "val_perplexity", "elapsed_time"}),
                 {.trigger = {interval, "iteration"}});
  trainer.extend(extensions::ProgressBar({.update_interval = args.test ? 1 : 10}));
  trainer.extend(extensions::snapshot({.n_retains = 1}), {.trigger = {1, "epoch"}});
  if (!args.resume.empty()) serializers::load_npz(args.resume, trainer);

  trainer.run();

  // Evaluate the final model
  std::printf("test\n");
  std::printf("test perplexity: %g\n", perplexity(model, some(corpus.texts.test), args.bproplen));

  // Serialize the final model
  serializers::save_npz((std::filesystem::path(args.out) / args.model).string(), model);
}

void train_layers(const Arguments& args) {
  const Corpus corpus = load_corpus(args.data);
  std::cout << "#vocab = " << corpus.vocabulary.size() << '\n';
  with_model(args.layers, corpus.vocabulary.size(), args.unit, [&](auto& model) { train(args, corpus, model); });
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<Arguments>(argc, argv, "Kusari example: a recurrent language model", train_layers);
}
