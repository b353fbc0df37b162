// Trains a convolutional network on CIFAR-10 or CIFAR-100 in several processes: `mpirun -n 4 train_cifar`. Batches with
// their shifts and mirrors are those of examples/cifar/train_cifar with the same flags, whatever the number of
// processes is; so are log and snapshots up to rounding, but for what batch normalization makes of each process's part.
#include <cstdint>
#include <cstdio>
#include <string>

#include <kusari/kusari.h>

#include "kusari/examples/cifar/data.h"
#include "kusari/examples/cifar/models.h"
#include "kusari/examples/common/banner.h"
#include "kusari/examples/common/flags.h"
#include "kusari/examples/distributed/common.h"
#include "kusari/examples/precision.h"

using namespace kusari;

namespace {

struct Arguments : Flags {
  std::string dataset =
      choice("--dataset", {"cifar10", "cifar100"}, "cifar10", "The dataset to use: cifar10 or cifar100");
  std::string model = text("-m,--model", "small", "The network to train", key_of(kModels));
  int64_t batchsize = count("-b,--batchsize", 128, "Number of images in each mini-batch, of all processes together");
  double learnrate = real("-l,--learnrate", 0.1, "Highest learning rate for SGD");
  int64_t epoch = count("-e,--epoch", 10, "Number of sweeps over the dataset to train");
  std::string device = device_of_rank_flag(*this);
  std::string out = out_flag();
  bool autoload = flag("--autoload", "Resume from the newest snapshot in the output directory, if any");
  std::string communicator = communicator_flag(*this);
  bool early_stopping = flag("--early-stopping", "Stop when the test loss has not fallen for three epochs");
  std::string data =
      text("--data", "", "Folder of the data set: binary files or tar shards of images (default: find or download it)");
  bool autotune = flag("--autotune", "Measure which way of computing each convolution is the fastest");
  bool static_graph = flag("--static-graph", "Record a training step once, then replay it");
  int64_t seed = seed_flag();
  PrecisionFlags precision = precision_flags(*this);
};

void train(const Arguments& args) {
  if (args.autotune) global_config().autotune = true;
  const auto comm = distributed::create_communicator(args.communicator);  // before what draws random numbers
  const auto device = get_device(device_of_rank(args.device, comm));

  if (comm.is_root()) {
    print_banner({{"Device", device},
                  {"# processes", int64_t{comm.size()}},
                  {"Dataset", args.dataset},
                  {"Model", args.model},
                  {"# Minibatch-size", args.batchsize},
                  {"# epoch", args.epoch}});
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
  return run_program<Arguments>(argc, argv, "Kusari example: CIFAR in several processes", train);
}
