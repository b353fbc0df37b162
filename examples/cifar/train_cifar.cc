// Trains a convolutional network on CIFAR-10 or CIFAR-100 with a Trainer and its extensions.
#include <cstdint>
#include <cstdio>
#include <string>

#include <kusari/kusari.h>

#include "kusari/examples/cifar/data.h"
#include "kusari/examples/cifar/models.h"
#include "kusari/examples/common/banner.h"
#include "kusari/examples/common/flags.h"
#include "kusari/examples/precision.h"

using namespace kusari;

namespace {

struct Arguments : Flags {
  std::string dataset =
      choice("--dataset", {"cifar10", "cifar100"}, "cifar10", "The dataset to use: cifar10 or cifar100");
  std::string model = text("-m,--model", "small", "The network to train", key_of(kModels));
  int64_t batchsize = count("-b,--batchsize", 128, "Number of images in each mini-batch");
  double learnrate = real("-l,--learnrate", 0.1, "Highest learning rate for SGD");
  int64_t epoch = count("-e,--epoch", 10, "Number of sweeps over the dataset to train");
  std::string device = device_flag();
  std::string out = out_flag();
  std::string resume = resume_flag();
  bool early_stopping = flag("--early-stopping", "Stop when the test loss has not fallen for three epochs");
  std::string data =
      text("--data", "", "Folder of the data set: binary files or tar shards of images (default: find or download it)");
  bool autotune = flag("--autotune", "Measure which way of computing each convolution is the fastest");
  bool static_graph = flag("--static-graph", "Record a training step once, then replay it");
  bool chainer =
      flag("--chainer",
           "Chainer's own training: vgg, batches of 64, and a rate of 0.05 that is halved every 25 of 300 epochs, "
           "unless other flags say otherwise");
  int64_t seed = seed_flag();
  PrecisionFlags precision = precision_flags(*this);

  Arguments() {
    if (!chainer) return;
    if (!is_given("--model")) model = "vgg";
    if (!is_given("--batchsize")) batchsize = 64;
    if (!is_given("--learnrate")) learnrate = 0.05;
    if (!is_given("--epoch")) epoch = 300;
  }
};

void train(const Arguments& args) {
  if (args.autotune) global_config().autotune = true;
  const auto device = get_device(args.device);

  print_banner({{"Device", device},
                {"Dataset", args.dataset},
                {"Model", args.model},
                {"# Minibatch-size", args.batchsize},
                {"# epoch", args.epoch}});

  // Set up a neural network to train.
  // Classifier reports softmax cross entropy loss and accuracy at every iteration, which will be used by the
  // PrintReport extension below.
  auto model = L::classifier(kModels.at(args.model)(args.dataset == "cifar10" ? 10 : 100));
  model.to(device);

  // Set up an optimizer
  optimizers::MomentumSGD optimizer(args.learnrate);
  optimizer.setup(model);
  const auto session = set_up_precision(args.precision, optimizer);
  optimizer.add_hook(optimizer_hooks::WeightDecay(5e-4));

  // Load the dataset, as 8-bit images. Training images are shifted by up to four pixels and mirrored at random;
  // the converter makes normalized numbers of a whole batch (mean and standard deviation of each channel).
  const auto [train, test] = load_cifar(args.dataset, args.data);
  const auto converter = datasets::image_converter({.mean = {125.3, 123.0, 113.9}, .deviation = {63.0, 62.1, 66.7}});
  const datasets::TransformDataset augmented(
      train, transforms::on_image(transforms::Pad{4}, transforms::RandomCrop{32}, transforms::RandomFlip{}));

  iterators::SerialIterator train_iter(augmented, args.batchsize);
  iterators::SerialIterator test_iter(test, args.batchsize, {.repeat = false, .shuffle = false});

  // Set up a trainer
  training::TriggerRef stop_trigger(args.epoch, "epoch");
  if (args.early_stopping) {
    stop_trigger = triggers::EarlyStoppingTrigger(
        {.monitor = "validation/main/loss", .verbose = true, .max_trigger = {args.epoch, "epoch"}});
  }
  updaters::StandardUpdater updater(
      train_iter, optimizer,
      {.converter = converter, .device = device, .prefetch = 2, .static_graph = args.static_graph});
  training::Trainer trainer(updater, stop_trigger, args.out);

  // Evaluate the model with the test dataset for each epoch
  trainer.extend(extensions::Evaluator(test_iter, model, {.converter = converter, .device = device}));

  // Raise the learning rate, then let it fall to zero; or, as Chainer does, halve it from time to time
  if (args.chainer) {
    trainer.extend(extensions::ExponentialShift("lr", 0.5), {.trigger = {25, "epoch"}});
  } else {
    const int64_t iterations = (train.size() * args.epoch + args.batchsize - 1) / args.batchsize;
    trainer.extend(extensions::OneCycleShift("lr", iterations), {.trigger = {1, "iteration"}});
  }

  // Take a snapshot at each epoch and keep the newest two
  trainer.extend(extensions::snapshot({.n_retains = 2}));

  // Write a log of evaluation statistics for each epoch
  extensions::LogReport log;
  trainer.extend(log);

  // Print selected entries of the log to stdout.
  // Here "main" refers to the target link of the "main" optimizer, and "validation" to the default name of the
  // Evaluator extension. Entries other than "epoch" and "elapsed_time" are reported by the Classifier link, called by
  // either the updater or the evaluator.
  trainer.extend(extensions::PrintReport(
      {"epoch", "main/loss", "validation/main/loss", "main/accuracy", "validation/main/accuracy", "elapsed_time"}));

  // Print a progress bar to stdout
  trainer.extend(extensions::ProgressBar({.update_interval = 10}));

  if (!args.resume.empty()) serializers::load_npz(args.resume, trainer);

  // Run the training
  trainer.run();

  std::printf("Test accuracy: %.2f %%\n", 100 * log.last().at("validation/main/accuracy"));
}

}  // namespace

int main(int argc, char** argv) { return run_program<Arguments>(argc, argv, "Kusari example: CIFAR", train); }
