// Trains a convolutional network on CIFAR-10 or CIFAR-100 in several processes: `mpirun -n 4 train_cifar`. Batches with
// their shifts and mirrors are those of examples/cifar/train_cifar with the same flags, whatever the number of
// processes is; so are log and snapshots up to rounding, but for what batch normalization makes of each process's part.
#include <cstdint>
#include <cstdio>
#include <string>

#include <kusari/kusari.h>
#include <CLI/CLI.hpp>

#include "kusari/examples/cifar/data.h"
#include "kusari/examples/cifar/models.h"
#include "kusari/examples/distributed/common.h"
#include "kusari/examples/precision.h"

using namespace kusari;

namespace {

struct Arguments {
  std::string dataset = "cifar10";
  std::string model = "small";
  int64_t batchsize = 128;
  double learnrate = 0.1;
  int64_t epoch = 10;
  std::string device = "cpu";
  std::string out = "result";
  bool autoload = false;
  bool early_stopping = false;
  std::string communicator = "auto";
  std::string data;
  bool autotune = false;
  bool static_graph = false;
  int64_t seed = -1;
  PrecisionFlags precision;
};

Arguments parse(CLI::App& parser, int argc, char** argv) {
  Arguments args;
  parser.add_option("--dataset", args.dataset, "The dataset to use: cifar10 or cifar100")
      ->check(CLI::IsMember({"cifar10", "cifar100"}))
      ->capture_default_str();
  parser.add_option("-m,--model", args.model, "The network to train")
      ->check(CLI::IsMember(&kModels))
      ->capture_default_str();
  parser.add_option("-b,--batchsize", args.batchsize, "Number of images in each mini-batch, of all processes together")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  parser.add_option("-l,--learnrate", args.learnrate, "Highest learning rate for SGD")->capture_default_str();
  parser.add_option("-e,--epoch", args.epoch, "Number of sweeps over the dataset to train")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  parser.add_option("-d,--device,-g,--gpu", args.device, "cpu, cuda:N, or cuda: the GPU of a process's number")
      ->capture_default_str();
  parser.add_option("-o,--out", args.out, "Directory to output the result")->capture_default_str();
  parser.add_flag("--autoload", args.autoload, "Resume from the newest snapshot in the output directory, if any");
  parser
      .add_option("--communicator", args.communicator, "How gradients are exchanged: auto, or one of ChainerMN's names")
      ->capture_default_str();
  parser.add_flag("--early-stopping", args.early_stopping, "Stop when the test loss has not fallen for three epochs");
  parser.add_option("--data", args.data,
                    "Folder of the data set: binary files or tar shards of images (default: find or download it)");
  parser.add_flag("--autotune", args.autotune, "Measure which way of computing each convolution is the fastest");
  parser.add_flag("--static-graph", args.static_graph, "Record a training step once, then replay it");
  parser.add_option("--seed", args.seed, "Seed of the random numbers; runs with the same one are the same");
  add_precision_flags(parser, args.precision);
  parser.parse(argc, argv);
  return args;
}

void train(const Arguments& args) {
  if (args.seed >= 0) random::seed(static_cast<uint64_t>(args.seed));
  if (args.autotune) global_config().autotune = true;
  const auto comm = distributed::create_communicator(args.communicator);  // before what draws random numbers
  const auto device = get_device(device_of_rank(args.device, comm));
  set_dtype(args.precision);

  if (comm.is_root()) {
    std::printf("Device: %s\n", device.name().c_str());
    std::printf("# processes: %d\n", comm.size());
    std::printf("Dataset: %s\n", args.dataset.c_str());
    std::printf("Model: %s\n", args.model.c_str());
    std::printf("# Minibatch-size: %lld\n", static_cast<long long>(args.batchsize));
    std::printf("# epoch: %lld\n\n", static_cast<long long>(args.epoch));
  }

  // Set up a neural network to train.
  // Classifier reports softmax cross entropy loss and accuracy at every iteration, which will be used by the
  // PrintReport extension below.
  auto model = L::classifier(kModels.at(args.model)(args.dataset == "cifar10" ? 10 : 100));
  model.to(device);

  // Set up an optimizer that takes its steps together with those of the other processes
  auto optimizer = distributed::create_multi_node_optimizer(optimizers::MomentumSGD(args.learnrate), comm);
  optimizer.setup(model);
  const auto session = set_up_precision(args.precision, optimizer);
  optimizer.add_hook(optimizer_hooks::WeightDecay(5e-4));

  // Load the dataset, as 8-bit images. Training images are shifted by up to four pixels and mirrored at random;
  // the converter makes normalized numbers of a whole batch (mean and standard deviation of each channel).
  const auto [train, test] = load_cifar(args.dataset, args.data);
  const auto converter = datasets::image_converter({.mean = {125.3, 123.0, 113.9}, .deviation = {63.0, 62.1, 66.7}});
  const datasets::TransformDataset augmented(
      train, transforms::on_image(transforms::Pad{4}, transforms::RandomCrop{32}, transforms::RandomFlip{}));

  // Each process takes its part of each batch.
  iterators::SerialIterator train_iter(augmented, args.batchsize, {.shard = comm.shard()});
  iterators::SerialIterator test_iter(test, args.batchsize, {.repeat = false, .shuffle = false, .shard = comm.shard()});

  // Set up a trainer
  training::TriggerRef stop_trigger(args.epoch, "epoch");
  if (args.early_stopping) {
    stop_trigger = triggers::EarlyStoppingTrigger(
        {.monitor = "validation/main/loss", .verbose = comm.is_root(), .max_trigger = {args.epoch, "epoch"}});
  }
  updaters::StandardUpdater updater(
      train_iter, optimizer,
      {.converter = converter, .device = device, .prefetch = 2, .static_graph = args.static_graph});
  training::Trainer trainer(updater, stop_trigger, args.out);

  // Evaluate the model with the test dataset for each epoch; all processes report the same
  trainer.extend(distributed::create_multi_node_evaluator(
      extensions::Evaluator(test_iter, model, {.converter = converter, .device = device}), comm));
  trainer.extend(mean_over_ranks(comm, args.batchsize, {"main/loss", "main/accuracy"}), {.name = "mean_over_ranks"});

  // Raise the learning rate, then let it fall to zero
  const int64_t iterations = (train.size() * args.epoch + args.batchsize - 1) / args.batchsize;
  trainer.extend(extensions::OneCycleShift("lr", iterations), {.trigger = {1, "iteration"}});

  // Take a snapshot at each epoch and keep the newest two
  trainer.extend(
      distributed::multi_node_snapshot(comm, extensions::snapshot({.n_retains = 2, .autoload = args.autoload})));

  // What prints or logs belongs to the root alone
  extensions::LogReport log;
  if (comm.is_root()) {
    trainer.extend(log);
    trainer.extend(extensions::PrintReport(
        {"epoch", "main/loss", "validation/main/loss", "main/accuracy", "validation/main/accuracy", "elapsed_time"}));
    trainer.extend(extensions::ProgressBar({.update_interval = 10}));
  }

  // Run the training
  trainer.run();

  if (comm.is_root()) std::printf("Test accuracy: %.2f %%\n", 100 * log.last().at("validation/main/accuracy"));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App parser("Kusari example: CIFAR in several processes");
  try {
    train(parse(parser, argc, argv));
    return 0;
  } catch (const CLI::ParseError& error) {
    return parser.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_cifar: %s\n", error.what());
    return 1;
  }
}
