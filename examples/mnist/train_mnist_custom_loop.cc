// Trains a fully-connected network on MNIST without the Trainer: the loop is written out, takes a batch, computes its
// loss and applies the optimizer.
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
namespace fs = std::filesystem;

namespace {

struct Arguments {
  int64_t batchsize = 100;
  int64_t epoch = 20;
  std::string device = "cpu";
  std::string out = "result";
  std::string resume;
  int64_t unit = 1000;
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
  parser.add_option("-d,--device,-g,--gpu", args.device, "cpu, or cuda:N or N for a GPU")->capture_default_str();
  parser.add_option("-o,--out", args.out, "Directory to output the result")->capture_default_str();
  parser.add_option("-r,--resume", args.resume, "Resume from the files mlp.model and mlp.state in this directory");
  parser.add_option("-u,--unit", args.unit, "Number of units")->check(CLI::PositiveNumber)->capture_default_str();
  parser.add_option("--seed", args.seed, "Seed of the random numbers; runs with the same one are the same");
  parser.add_option("--data", args.data, "mnist, stroke-digits, or auto: MNIST where there is a way to it")
      ->check(CLI::IsMember({"auto", "mnist", "stroke-digits"}))
      ->capture_default_str();
  add_precision_flags(parser, args.precision);
  parser.parse(argc, argv);
  return args;
}

// Means over the examples of several batches.
struct Means {
  double loss = 0, accuracy = 0;
  int64_t count = 0;

  void add(const Variable& batch_loss, const Variable& batch_accuracy, int64_t n) {
    loss += batch_loss.item<double>() * static_cast<double>(n);
    accuracy += batch_accuracy.item<double>() * static_cast<double>(n);
    count += n;
  }
  void print(const char* name) const {
    const double n = static_cast<double>(count);
    std::printf("%s mean loss: %g, accuracy: %g\n", name, loss / n, accuracy / n);
  }
};

void train(const Arguments& args) {
  if (args.seed >= 0) random::seed(static_cast<uint64_t>(args.seed));
  const auto device = get_device(args.device);
  set_dtype(args.precision);

  std::printf("Device: %s\n", device.name().c_str());
  std::printf("# unit: %lld\n", static_cast<long long>(args.unit));
  std::printf("# Minibatch-size: %lld\n", static_cast<long long>(args.batchsize));
  std::printf("# epoch: %lld\n\n", static_cast<long long>(args.epoch));

  // Set up a neural network to train
  auto model = L::classifier(Mlp(args.unit, 10));
  model.to(device);

  // Set up an optimizer
  optimizers::Adam optimizer;
  optimizer.setup(model);
  const auto session = set_up_precision(args.precision, optimizer);

  if (!args.resume.empty()) {
    // Resume from a snapshot
    serializers::load_npz((fs::path(args.resume) / "mlp.model").string(), model);
    serializers::load_npz((fs::path(args.resume) / "mlp.state").string(), optimizer);
  }

  // Load the MNIST dataset
  auto [train, test] = load_digits(args.data);

  iterators::SerialIterator train_iter(train, args.batchsize);
  iterators::SerialIterator test_iter(test, args.batchsize, {.repeat = false, .shuffle = false});

  Means training;
  while (train_iter.epoch() < args.epoch) {
    const auto batch = datasets::concat_examples(train_iter.next(), device);
    const auto &x = batch[0], &t = batch[1];
    optimizer.update(model, x, t);
    training.add(model.loss, model.accuracy, t.size());

    if (train_iter.is_new_epoch()) {
      std::printf("epoch: %lld\n", static_cast<long long>(train_iter.epoch()));
      training.print("train");
      training = Means();

      // Enable evaluation mode, and record no graph: the latter is optional but saves time and memory.
      const auto test_mode = using_config(&Config::train, false);
      const auto no_graph = no_backprop_mode();
      Means testing;
      test_iter.reset();
      for (const auto& examples : test_iter) {
        const auto arrays = datasets::concat_examples(examples, device);
        model(arrays[0], arrays[1]);
        testing.add(model.loss, model.accuracy, arrays[1].size());
      }
      testing.print("test ");
    }
  }

  // Save the model and the optimizer
  fs::create_directories(args.out);
  std::printf("save the model\n");
  serializers::save_npz((fs::path(args.out) / "mlp.model").string(), model);
  std::printf("save the optimizer\n");
  serializers::save_npz((fs::path(args.out) / "mlp.state").string(), optimizer);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App parser("Kusari example: MNIST with a training loop written out");
  try {
    train(parse(parser, argc, argv));
    return 0;
  } catch (const CLI::ParseError& error) {
    return parser.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_mnist_custom_loop: %s\n", error.what());
    return 1;
  }
}
