// Trains a recurrent language model on the words of a text in several processes: `mpirun -n 4 train_ptb`. Each process
// reads the text from its part of the places of a batch. Batches, log and files are those of examples/ptb/train_ptb
// with the same flags, up to rounding, but that each process draws its own dropout.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>

#include <kusari/kusari.h>

#include "kusari/examples/distributed/common.h"
#include "kusari/examples/precision.h"
#include "kusari/examples/ptb/corpus.h"
#include "kusari/examples/ptb/flags.h"
#include "kusari/examples/ptb/models.h"

using namespace kusari;

namespace {

struct Arguments : PtbTrainerFlags {
  std::string device = device_of_rank_flag(*this);
  std::string communicator = communicator_flag(*this);
  bool shard_optimizer = shard_optimizer_flag(*this);
};

template <class Model>
void train(const Arguments& args, const distributed::Communicator& comm, const Corpus& corpus, Model& model) {
  const auto device = get_device(device_of_rank(args.device, comm));
  const int64_t most = args.test ? 100 : corpus.texts.train.size();
  const auto some = [&](const Array& text) { return text.slice(0, 0, std::min(most, text.size())); };
  model.to(device);

  // Set up an optimizer that takes its steps together with those of the other processes
  auto optimizer = distributed::create_multi_node_optimizer(optimizers::SGD({.lr = 1}), comm,
                                                            {.shard_optimizer = args.shard_optimizer});
  optimizer.setup(model);
  optimizer.add_hook(optimizer_hooks::GradientClipping(args.gradclip));
  const auto session = set_up_precision(args.precision, optimizer);

  // Each process has its places of each batch; the text for validation is read from one place, by all of them.
  iterators::ParallelSequentialIterator train_iter(some(corpus.texts.train), args.batchsize,
                                                   {.window = args.bproplen, .shard = comm.shard()});
  iterators::ParallelSequentialIterator val_iter(some(corpus.texts.valid), 1,
                                                 {.repeat = false, .window = args.bproplen});

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
  trainer.extend(mean_over_ranks(comm, args.batchsize, {"main/loss"}), {.name = "mean_over_ranks"});
  trainer.extend(distributed::multi_node_snapshot(comm, extensions::snapshot({.n_retains = 1})),
                 {.trigger = {1, "epoch"}});

  // What prints or logs belongs to the root alone
  if (comm.is_root()) {
    trainer.extend(extensions::LogReport({.trigger = {interval, "iteration"}, .postprocess = add_perplexity}));
    trainer.extend(extensions::PrintReport({"epoch", "iteration", "perplexity", "val_perplexity", "elapsed_time"}),
                   {.trigger = {interval, "iteration"}});
    trainer.extend(extensions::ProgressBar({.update_interval = args.test ? 1 : 10}));
  }
  if (!args.resume.empty()) serializers::load_npz(args.resume, trainer);

  trainer.run();
  if (!comm.is_root()) return;

  // Evaluate the final model
  std::printf("test\n");
  std::printf("test perplexity: %g\n", perplexity(model, some(corpus.texts.test), args.bproplen));

  // Serialize the final model
  serializers::save_npz((std::filesystem::path(args.out) / args.model).string(), model);
}

void train_layers(const Arguments& args) {
  const auto comm = distributed::create_communicator(args.communicator);  // before what draws random numbers
  const Corpus corpus = load_corpus(args.data);
  if (comm.is_root()) std::cout << "#vocab = " << corpus.vocabulary.size() << '\n';
  with_model(args.layers, corpus.vocabulary.size(), args.unit, [&](auto& model) { train(args, comm, corpus, model); });
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<Arguments>(argc, argv, "Kusari example: a recurrent language model in several processes",
                                train_layers);
}
