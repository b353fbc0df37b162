// Trains a fully-connected network on MNIST with two replicas of it that compute halves of each batch.
// Almost the same as train_mnist.cc, where more is explained; what differs is the updater.
#include <cstdint>
#include <cstdio>
#include <string>

#include <kusari/kusari.h>
#include <CLI/CLI.hpp>

#include "kusari/examples/mnist/data.h"
#include "kusari/examples/mnist/mlp.h"

using namespace kusari;

namespace {

struct Arguments {
  int64_t batchsize = 400;
  int64_t epoch = 20;
  std::string device0 = "cuda:0";
  std::string device1 = "cuda:1";
  std::string out = "result_data_parallel";
  std::string resume;
  int64_t unit = 1000;
  bool sum = false;
  int64_t seed = -1;
  std::string data = "auto";
};

Arguments parse(CLI::App& parser, int argc, char** argv) {
  Arguments args;
  parser.add_option("-b,--batchsize", args.batchsize, "Number of images in each mini-batch")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  parser.add_option("-e,--epoch", args.epoch, "Number of sweeps over the dataset to train")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  parser.add_option("-d,--device0,-g,--gpu0", args.device0, "First device: cpu, or cuda:N or N for a GPU")
      ->capture_default_str();
  parser.add_option("-D,--device1,-G,--gpu1", args.device1, "Second device")->capture_default_str();
  parser.add_option("-o,--out", args.out, "Directory to output the result")->capture_default_str();
  parser.add_option("-r,--resume", args.resume, "Resume the training from this snapshot");
  parser.add_option("-u,--unit", args.unit, "Number of units")->check(CLI::PositiveNumber)->capture_default_str();
  parser.add_flag("--sum", args.sum, "Sum the gradients of the halves, as Chainer does, instead of averaging them");
  parser.add_option("--seed", args.seed, "Seed of the random numbers; runs with the same one are the same");
  parser.add_option("--data", args.data, "mnist, stroke-digits, or auto: MNIST where there is a way to it")
      ->check(CLI::IsMember({"auto", "mnist", "stroke-digits"}))
      ->capture_default_str();
  parser.parse(argc, argv);
  return args;
}

void train(const Arguments& args) {
  if (args.seed >= 0) random::seed(static_cast<uint64_t>(args.seed));
  const auto device0 = get_device(args.device0);
  const auto device1 = get_device(args.device1);

  std::printf("Devices: %s, %s\n", device0.name().c_str(), device1.name().c_str());
  std::printf("# unit: %lld\n", static_cast<long long>(args.unit));
  std::printf("# Minibatch-size: %lld\n", static_cast<long long>(args.batchsize));
  std::printf("# epoch: %lld\n\n", static_cast<long long>(args.epoch));

  auto model = L::classifier(Mlp(args.unit, 10));
  optimizers::Adam optimizer;
  optimizer.setup(model);

  auto [train, test] = load_digits(args.data);
  iterators::SerialIterator train_iter(train, args.batchsize);
  iterators::SerialIterator test_iter(test, args.batchsize, {.repeat = false, .shuffle = false});

  // ParallelUpdater lets replicas of the model compute gradients on several devices at once. The replica "main" is the
  // model itself, whose parameters the optimizer updates; the other ones are copies, whose names are free.
  updaters::ParallelUpdater updater(
      train_iter, optimizer,
      {.model = model, .devices = {{"main", device0}, {"second", device1}}, .prefetch = 1, .average = !args.sum});
  training::Trainer trainer(updater, {args.epoch, "epoch"}, args.out);

  trainer.extend(extensions::Evaluator(test_iter, model, {.device = device0}));
  trainer.extend(extensions::snapshot(), {.trigger = {args.epoch, "epoch"}});
  extensions::LogReport log;
  trainer.extend(log);
  trainer.extend(extensions::PrintReport(
      {"epoch", "main/loss", "validation/main/loss", "main/accuracy", "validation/main/accuracy", "elapsed_time"}));
  trainer.extend(extensions::ProgressBar());

  if (!args.resume.empty()) serializers::load_npz(args.resume, trainer);
  trainer.run();

  std::printf("Test accuracy: %.2f %%\n", 100 * log.last().at("validation/main/accuracy"));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App parser("Kusari example: MNIST on two devices");
  try {
    train(parse(parser, argc, argv));
    return 0;
  } catch (const CLI::ParseError& error) {
    return parser.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_mnist_data_parallel: %s\n", error.what());
    return 1;
  }
}
