// Trains a fully-connected network on MNIST with a Trainer and its extensions.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

#include <kusari/kusari.h>

#include "kusari/examples/common/banner.h"
#include "kusari/examples/common/flags.h"
#include "kusari/examples/mnist/data.h"
#include "kusari/examples/mnist/mlp.h"
#include "kusari/examples/precision.h"

using namespace kusari;

namespace {

struct Arguments : Flags {
  int64_t batchsize = count("-b,--batchsize", 100, "Number of images in each mini-batch");
  int64_t epoch = count("-e,--epoch", 20, "Number of sweeps over the dataset to train");
  int64_t frequency = number("-f,--frequency", -1, "Epochs between two snapshots (-1: one at the end)");
  std::string device = device_flag();
  std::string out = out_flag();
  std::string resume = resume_flag();
  bool autoload = flag("--autoload", "Resume from the newest snapshot in the output directory, if any");
  int64_t unit = count("-u,--unit", 1000, "Number of units");
  bool noplot = flag("--noplot", "Do not plot loss and accuracy");
  bool static_graph = flag("--static-graph", "Record a training step once, then replay it");
  int64_t seed = seed_flag();
  std::string data = digits_flag();
  PrecisionFlags precision = precision_flags(*this);
};

void train(const Arguments& args) {
  const auto device = get_device(args.device);

  print_banner(
      {{"Device", device}, {"# unit", args.unit}, {"# Minibatch-size", args.batchsize}, {"# epoch", args.epoch}});

  // Set up a neural network to train.
  // Classifier reports softmax cross entropy loss and accuracy at every iteration, which will be used by the
  // PrintReport extension below.
  auto model = L::classifier(Mlp(args.unit, 10));
  model.to(device);

  // Set up an optimizer
  optimizers::Adam optimizer;
  optimizer.setup(model);
  const auto session = set_up_precision(args.precision, optimizer);

  // Load the MNIST dataset
  auto [train, test] = load_digits(args.data);

  iterators::SerialIterator train_iter(train, args.batchsize);
  iterators::SerialIterator test_iter(test, args.batchsize, {.repeat = false, .shuffle = false});

  // Set up a trainer
  updaters::StandardUpdater updater(train_iter, optimizer, {.device = device, .static_graph = args.static_graph});
  training::Trainer trainer(updater, {args.epoch, "epoch"}, args.out);

  // Evaluate the model with the test dataset for each epoch
  trainer.extend(extensions::Evaluator(test_iter, model, {.device = device}), {.call_before_training = true});

  // Take a snapshot each `frequency` epochs, delete old ones and, with --autoload, start from the one that is there
  const int64_t frequency = args.frequency == -1 ? args.epoch : std::max<int64_t>(1, args.frequency);
  trainer.extend(extensions::snapshot({.n_retains = 1, .autoload = args.autoload}), {.trigger = {frequency, "epoch"}});

  // Write a log of evaluation statistics for each epoch
  extensions::LogReport log;
  trainer.extend(log, {.call_before_training = true});

  // Save two plot images and a page with all that is known about the run, report.html, to the result directory
  if (!args.noplot) {
    trainer.extend(extensions::PlotReport({"main/loss", "validation/main/loss"}, "epoch", {.filename = "loss.png"}),
                   {.call_before_training = true});
    trainer.extend(
        extensions::PlotReport({"main/accuracy", "validation/main/accuracy"}, "epoch", {.filename = "accuracy.png"}),
        {.call_before_training = true});
    trainer.extend(extensions::HtmlReport({.title = "MNIST"}), {.call_before_training = true});
  }

  // Print selected entries of the log to stdout.
  // Here "main" refers to the target link of the "main" optimizer, and "validation" to the default name of the
  // Evaluator extension. Entries other than "epoch" and "elapsed_time" are reported by the Classifier link, called by
  // either the updater or the evaluator.
  trainer.extend(extensions::PrintReport({"epoch", "main/loss", "validation/main/loss", "main/accuracy",
                                          "validation/main/accuracy", "elapsed_time"}),
                 {.call_before_training = true});

  // Print a progress bar to stdout
  trainer.extend(extensions::ProgressBar());

  if (!args.resume.empty()) serializers::load_npz(args.resume, trainer);

  // Run the training
  trainer.run();

  std::printf("Test accuracy: %.2f %%\n", 100 * log.last().at("validation/main/accuracy"));
}

}  // namespace

int main(int argc, char** argv) { return run_program<Arguments>(argc, argv, "Kusari example: MNIST", train); }
