// Trains a fully-connected network on MNIST with a Trainer and its extensions.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

#include <kusari/kusari.h>
#include <CLI/CLI.hpp>

#include "kusari/examples/mnist/data.h"
#include "kusari/examples/mnist/mlp.h"
#include "kusari/examples/precision.h"

using namespace kusari;

namespace {

struct Arguments {
  int64_t batchsize = 100;
  int64_t epoch = 20;
  int64_t frequency = -1;
  std::string device = "cpu";
  std::string out = "result";
  std::string resume;
  bool autoload = false;
  int64_t unit = 1000;
  bool noplot = false;
  bool static_graph = false;
  int64_t seed = -1;
  std::string data = "auto";
  PrecisionFlags precision;
};

Arguments parse(CLI::App& parser, int argc, char** argv) {
  Arguments args;
  parser.add_option("-b,--batchsize", args.batchsize, "Number of images in each mini-batch")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  parser.add_option("-e,--epoch", args.epoch, "Number of sweeps over the dataset to train")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  parser.add_option("-f,--frequency", args.frequency, "Epochs between two snapshots (-1: one at the end)");
  parser.add_option("-d,--device,-g,--gpu", args.device, "cpu, or cuda:N or N for a GPU")->capture_default_str();
  parser.add_option("-o,--out", args.out, "Directory to output the result")->capture_default_str();
  parser.add_option("-r,--resume", args.resume, "Resume the training from this snapshot");
  parser.add_flag("--autoload", args.autoload, "Resume from the newest snapshot in the output directory, if any");
  parser.add_option("-u,--unit", args.unit, "Number of units")->check(CLI::PositiveNumber)->capture_default_str();
  parser.add_flag("--noplot", args.noplot, "Do not plot loss and accuracy");
  parser.add_flag("--static-graph", args.static_graph, "Record a training step once, then replay it");
  parser.add_option("--seed", args.seed, "Seed of the random numbers; runs with the same one are the same");
  parser.add_option("--data", args.data, "mnist, stroke-digits, or auto: MNIST where there is a way to it")
      ->check(CLI::IsMember({"auto", "mnist", "stroke-digits"}))
      ->capture_default_str();
  add_precision_flags(parser, args.precision);
  parser.parse(argc, argv);
  return args;
}

void train(const Arguments& args) {
  if (args.seed >= 0) random::seed(static_cast<uint64_t>(args.seed));
  const auto device = get_device(args.device);
  set_dtype(args.precision);

  std::printf("Device: %s\n", device.name().c_str());
  std::printf("# unit: %lld\n", static_cast<long long>(args.unit));
  std::printf("# Minibatch-size: %lld\n", static_cast<long long>(args.batchsize));
  std::printf("# epoch: %lld\n\n", static_cast<long long>(args.epoch));

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

int main(int argc, char** argv) {
  CLI::App parser("Kusari example: MNIST");
  try {
    train(parse(parser, argc, argv));
    return 0;
  } catch (const CLI::ParseError& error) {
    return parser.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_mnist: %s\n", error.what());
    return 1;
  }
}
