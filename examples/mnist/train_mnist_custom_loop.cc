// Trains a fully-connected network on MNIST without the Trainer: the loop is written out, takes a batch, computes its
// loss and applies the optimizer.
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
namespace fs = std::filesystem;

namespace {

struct Arguments : Flags {
  int64_t batchsize = count("-b,--batchsize", 100, "Number of images in each mini-batch");
  int64_t epoch = count("-e,--epoch", 20, "Number of sweeps over the dataset to train");
  std::string device = device_flag();
  std::string out = out_flag();
  std::string resume = text("-r,--resume", "", "Resume from the files mlp.model and mlp.state in this directory");
  int64_t unit = count("-u,--unit", 1000, "Number of units");
  int64_t seed = seed_flag();
  std::string data = digits_flag();
  PrecisionFlags precision = precision_flags(*this);
};

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
  const auto device = get_device(args.device);

  print_banner(
      {{"Device", device}, {"# unit", args.unit}, {"# Minibatch-size", args.batchsize}, {"# epoch", args.epoch}});

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
  return run_program<Arguments>(argc, argv, "Kusari example: MNIST with a training loop written out", train);
}
