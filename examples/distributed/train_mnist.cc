// Trains a fully-connected network on MNIST in several processes: `mpirun -n 4 train_mnist`. Batches, log and snapshots
// are those of examples/mnist/train_mnist with the same flags, up to rounding, whatever the number of processes is; the
// lines that make it one of several are marked with (*).
#include <cstdint>
#include <cstdio>
#include <string>

#include <kusari/kusari.h>

#include "kusari/examples/common/banner.h"
#include "kusari/examples/common/flags.h"
#include "kusari/examples/distributed/common.h"
#include "kusari/examples/mnist/data.h"
#include "kusari/examples/mnist/mlp.h"
#include "kusari/examples/precision.h"

using namespace kusari;

namespace {

struct Arguments : Flags {
  int64_t batchsize = count("-b,--batchsize", 100, "Number of images in each mini-batch, of all processes together");
  int64_t epoch = count("-e,--epoch", 20, "Number of sweeps over the dataset to train");
  int64_t frequency = number("-f,--frequency", -1, "Epochs between two snapshots (-1: one at the end)");
  std::string communicator = communicator_flag(*this);
  std::string device = device_of_rank_flag(*this);
  std::string out = out_flag();
  bool autoload = flag("--autoload", "Resume from the newest snapshot in the output directory, if any");
  int64_t unit = count("-u,--unit", 1000, "Number of units");
  bool noplot = flag("--noplot", "Do not plot loss and accuracy");
  bool static_graph = flag("--static-graph", "Record a training step once, then replay it");
  int64_t seed = seed_flag();
  std::string data = digits_flag();
  PrecisionFlags precision = precision_flags(*this);
};

void train(const Arguments& args) {
  const auto comm = distributed::create_communicator(args.communicator);  // (*) before what draws random numbers
  const auto device = get_device(device_of_rank(args.device, comm));

  if (comm.is_root()) {
    print_banner({{"Device", device},
                  {"# processes", int64_t{comm.size()}},
                  {"# unit", args.unit},
                  {"# Minibatch-size", args.batchsize},
                  {"# epoch", args.epoch}});
  }

  auto model = L::classifier(Mlp(args.unit, 10));
  model.to(device);

  auto optimizer = distributed::create_multi_node_optimizer(optimizers::Adam(), comm);  // (*)
  optimizer.setup(model);
  const auto session = set_up_precision(args.precision, optimizer);

  auto [train, test] = load_digits(args.data);

  iterators::SerialIterator train_iter(train, args.batchsize, {.shard = comm.shard()});  // (*)
  iterators::SerialIterator test_iter(test, args.batchsize,
                                      {.repeat = false, .shuffle = false, .shard = comm.shard()});  // (*)

  updaters::StandardUpdater updater(train_iter, optimizer, {.device = device, .static_graph = args.static_graph});
  training::Trainer trainer(updater, {args.epoch, "epoch"}, args.out);

  // (*) All ranks evaluate and take snapshots together; what prints, plots or logs belongs to the root alone.
  trainer.extend(
      distributed::create_multi_node_evaluator(extensions::Evaluator(test_iter, model, {.device = device}), comm),
      {.call_before_training = true});
  trainer.extend(mean_over_ranks(comm, args.batchsize, {"main/loss", "main/accuracy"}), {.name = "mean_over_ranks"});
  const int64_t frequency = args.frequency == -1 ? args.epoch : std::max<int64_t>(1, args.frequency);
  trainer.extend(
      distributed::multi_node_snapshot(comm, extensions::snapshot({.n_retains = 1, .autoload = args.autoload})),
      {.trigger = {frequency, "epoch"}});

  extensions::LogReport log;
  if (comm.is_root()) {
    trainer.extend(log, {.call_before_training = true});
    if (!args.noplot) {
      trainer.extend(extensions::PlotReport({"main/loss", "validation/main/loss"}, "epoch", {.filename = "loss.png"}),
                     {.call_before_training = true});
      trainer.extend(
          extensions::PlotReport({"main/accuracy", "validation/main/accuracy"}, "epoch", {.filename = "accuracy.png"}),
          {.call_before_training = true});
      trainer.extend(extensions::HtmlReport({.title = "MNIST"}), {.call_before_training = true});
    }
    trainer.extend(extensions::PrintReport({"epoch", "main/loss", "validation/main/loss", "main/accuracy",
                                            "validation/main/accuracy", "elapsed_time"}),
                   {.call_before_training = true});
    trainer.extend(extensions::ProgressBar());
  }

  trainer.run();

  if (comm.is_root()) std::printf("Test accuracy: %.2f %%\n", 100 * log.last().at("validation/main/accuracy"));
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<Arguments>(argc, argv, "Kusari example: MNIST in several processes", train);
}
