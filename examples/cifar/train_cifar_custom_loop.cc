// Trains a convolutional network on CIFAR-10 or CIFAR-100 without the Trainer: the loop is written out, computes the
// loss of each batch, applies the optimizer and halves the learning rate. Chainer's network and its defaults.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

#include <kusari/kusari.h>

#include "kusari/examples/cifar/data.h"
#include "kusari/examples/cifar/models.h"
#include "kusari/examples/common/banner.h"
#include "kusari/examples/common/flags.h"

using namespace kusari;

namespace {

struct Arguments : Flags {
  std::string dataset =
      choice("--dataset", {"cifar10", "cifar100"}, "cifar10", "The dataset to use: cifar10 or cifar100");
  std::string model = text("-m,--model", "vgg", "The network to train", key_of(kModels));
  int64_t batchsize = count("-b,--batchsize", 64, "Number of images in each mini-batch");
  double learnrate = real("-l,--learnrate", 0.05, "Learning rate for SGD");
  int64_t epoch = count("-e,--epoch", 300, "Number of sweeps over the dataset to train");
  std::string device = device_flag();
  std::string out = out_flag();
  bool test = flag("--test", "Use tiny datasets for quick tests");
  std::string data =
      text("--data", "", "Folder of the data set, or digits: generated ones (default: find or download it)");
  int64_t seed = seed_flag();
};

// Means over the examples of several batches.
struct Means {
  double loss = 0, accuracy = 0;
  int64_t count = 0;

  template <class Model>
  void add(const Model& model, int64_t n) {
    loss += model.loss.template item<double>() * static_cast<double>(n);
    accuracy += model.accuracy.template item<double>() * static_cast<double>(n);
    count += n;
  }
  void print(const char* name) const {
    const double n = static_cast<double>(count);
    std::printf("%s loss: %g, accuracy: %g\n", name, loss / n, accuracy / n);
  }
};

void train(const Arguments& args) {
  const auto device = get_device(args.device);
  print_banner({{"Device", device}, {"# Minibatch-size", args.batchsize}, {"# epoch", args.epoch}});

  std::printf("Using %s dataset.\n", args.dataset == "cifar10" ? "CIFAR10" : "CIFAR100");
  auto [train, test] = load_cifar(args.dataset, args.data);
  if (args.test) {
    train = first_examples(train, 200);
    test = first_examples(test, 200);
  }
  const auto converter = datasets::image_converter({.deviation = {255, 255, 255}});  // pixels of 0 .. 1

  auto model = L::classifier(kModels.at(args.model)(args.dataset == "cifar10" ? 10 : 100));
  model.to(device);
  optimizers::MomentumSGD optimizer(args.learnrate);
  optimizer.setup(model);
  optimizer.add_hook(optimizer_hooks::WeightDecay(5e-4));

  iterators::SerialIterator train_iter(train, args.batchsize);
  iterators::SerialIterator test_iter(test, args.batchsize, {.repeat = false, .shuffle = false});

  Means trained;
  while (train_iter.epoch() < args.epoch) {
    const auto examples = train_iter.next();
    // Reduce learning rate by 0.5 every 25 epochs.
    if (train_iter.epoch() % 25 == 0 && train_iter.is_new_epoch()) {
      optimizer.lr *= 0.5;
      std::printf("Reducing learning rate to: %g\n", optimizer.lr);
    }
    const auto batch = converter(examples, device);
    optimizer.update(model, batch[0], batch[1]);
    trained.add(model, batch[1].size());
    if (!train_iter.is_new_epoch()) continue;

    std::printf("epoch: %d\n", static_cast<int>(train_iter.epoch()));
    trained.print("train mean");
    trained = Means();

    // Evaluate: without dropout, with the statistics of the training, and without a graph.
    const auto test_mode = using_config(&Config::train, false);
    const auto no_graph = no_backprop_mode();
    Means tested;
    test_iter.reset();
    for (const auto& test_examples : test_iter) {
      const auto images = converter(test_examples, device);
      model(images[0], images[1]);
      tested.add(model, images[1].size());
    }
    tested.print("test mean ");
  }

  // Save the model and the optimizer
  std::filesystem::create_directories(args.out);
  std::printf("save the model\n");
  serializers::save_npz(args.out + "/mlp.model", model);
  std::printf("save the optimizer\n");
  serializers::save_npz(args.out + "/mlp.state", optimizer);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<Arguments>(argc, argv, "Kusari example: CIFAR with a training loop written out", train);
}
