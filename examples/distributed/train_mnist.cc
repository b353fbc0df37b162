// Trains a fully-connected network on MNIST in several processes: `mpirun -n 4 train_mnist`. Batches, log and snapshots
// are those of examples/mnist/train_mnist with the same flags, up to rounding, whatever the number of processes is; the
// lines that make it one of several are marked with (*).
#include <cstdint>
#include <cstdio>
#include <string>

#include <kusari/kusari.h>
#include <CLI/CLI.hpp>

#include "kusari/examples/distributed/common.h"
#include "kusari/examples/mnist/data.h"
#include "kusari/examples/mnist/mlp.h"
#include "kusari/examples/precision.h"

using namespace kusari;

namespace {

struct Arguments {
  int64_t batchsize = 100;
  int64_t epoch = 20;
  int64_t frequency = -1;
  std::string communicator = "auto";
  std::string device = "cpu";
  std::string out = "result";
  bool autoload = false;
  int64_t unit = 1000;
  bool noplot = false;
  bool static_graph = false;
  int64_t seed = -1;
  std::string data = "auto";
  PrecisionFlags precision;
};

void add_flags(CLI::App& parser, Arguments& args) {
  parser.add_option("-b,--batchsize", args.batchsize, "Number of images in each mini-batch, of all processes together")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  parser.add_option("-e,--epoch", args.epoch, "Number of sweeps over the dataset to train")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  parser.add_option("-f,--frequency", args.frequency, "Epochs between two snapshots (-1: one at the end)");
  parser
      .add_option("--communicator", args.communicator, "How gradients are exchanged: auto, or one of ChainerMN's names")
      ->capture_default_str();
  parser.add_option("-d,--device,-g,--gpu", args.device, "cpu, cuda:N, or cuda: the GPU of a process's number")
      ->capture_default_str();
  parser.add_option("-o,--out", args.out, "Directory to output the result")->capture_default_str();
  parser.add_flag("--autoload", args.autoload, "Resume from the newest snapshot in the output directory, if any");
  parser.add_option("-u,--unit", args.unit, "Number of units")->check(CLI::PositiveNumber)->capture_default_str();
  parser.add_flag("--noplot", args.noplot, "Do not plot loss and accuracy");
  parser.add_flag("--static-graph", args.static_graph, "Record a training step once, then replay it");
  parser.add_option("--seed", args.seed, "Seed of the random numbers; runs with the same one are the same");
  parser.add_option("--data", args.data, "mnist, stroke-digits, or auto: MNIST where there is a way to it")
      ->check(CLI::IsMember({"auto", "mnist", "stroke-digits"}))
      ->capture_default_str();
  add_precision_flags(parser, args.precision);
}

void train(const Arguments& args) {
  if (args.seed >= 0) random::seed(static_cast<uint64_t>(args.seed));
  const auto comm = distributed::create_communicator(args.communicator);  // (*) before what draws random numbers
  const auto device = get_device(device_of_rank(args.device, comm));
  set_dtype(args.precision);

  if (comm.is_root()) {
    std::printf("Device: %s\n", device.name().c_str());
    std::printf("# processes: %d\n", comm.size());
    std::printf("# unit: %lld\n", static_cast<long long>(args.unit));
    std::printf("# Minibatch-size: %lld\n", static_cast<long long>(args.batchsize));
    std::printf("# epoch: %lld\n\n", static_cast<long long>(args.epoch));
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
  CLI::App parser("Kusari example: MNIST in several processes");
  Arguments args;
  add_flags(parser, args);
  try {
    parser.parse(argc, argv);
    train(args);
    return 0;
  } catch (const CLI::ParseError& error) {
    return parser.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_mnist: %s\n", error.what());
    return 1;
  }
}
