// Trains a variational autoencoder on MNIST, and shows what it makes of digits and of random numbers.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/common/banner.h"
#include "kusari/examples/common/flags.h"
#include "kusari/examples/mnist/data.h"
#include "kusari/examples/vae/net.h"

using namespace kusari;
namespace fs = std::filesystem;

namespace {

struct Arguments : Flags {
  std::string initmodel = text("-m,--initmodel", "", "Initialize the model from given file");
  std::string resume = text("-r,--resume", "", "Resume the optimization from snapshot");
  std::string device = device_flag();
  std::string out = out_flag("results");
  int64_t epoch = count("-e,--epoch", 100, "Number of epochs to learn");
  int64_t dim_z = count("-z,--dim-z", 20, "Dimension of encoded vector");
  int64_t dim_h = count("--dim-h", 500, "Dimension of hidden layer");
  double beta = real("--beta", 1, "Regularization coefficient for the second term of ELBO bound");
  int64_t k = count("-k,--k", 1, "Number of Monte Carlo samples used in encoded vector");
  bool binary = flag("--binary", "Use binarized MNIST");
  int64_t batch_size = count("-b,--batch-size", 100, "Learning minibatch size");
  bool test = flag("--test", "Use tiny datasets for quick tests");
  std::string data = digits_flag();
  int64_t seed = seed_flag();
};

// The images without their labels, (784) in 0 .. 1, as far as they are asked for.
datasets::TupleDataset images_of(const datasets::TupleDataset& digits, const Arguments& args) {
  Array x = digits.arrays()[0];
  if (args.test) x = x.slice(0, 0, 100);
  if (args.binary) x = F::floor(Variable(x, false) + 0.5).array();
  return datasets::TupleDataset(x);
}

// Saves a 3x3 tiled image.
void save3x3(const fs::path& path, const Variable& x) {
  const auto tiles = F::transpose(F::reshape(x, {3, 3, 28, 28}), {0, 2, 1, 3});
  datasets::save_png(path.string(), F::reshape(tiles, {3 * 28, 3 * 28}).array());
}

// Saves reconstruction images using:
// - training image samples
// - test image samples
// - randomly sampled values of z
void save_images(const Arguments& args, const Device& device, const AvgElboLoss& model, const datasets::Dataset& train,
                 const datasets::Dataset& test) {
  const auto test_mode = using_config(&Config::train, false);
  const auto no_graph = no_backprop_mode();
  const fs::path out = args.out;

  const auto save_pair = [&](const datasets::Dataset& images, const std::vector<int64_t>& indices,
                             const std::string& name) {
    const Variable x = datasets::concat_examples(images.take(indices), device)[0];
    save3x3(out / (name + ".png"), x);
    save3x3(out / (name + "_reconstructed.png"), model.decoder(model.encoder(x).mean()).mean());
  };
  save_pair(train, {1, 3, 5, 10, 2, 0, 13, 15, 17}, "train");
  save_pair(test, {3, 2, 1, 18, 4, 8, 11, 17, 61}, "test");

  const Variable z = random::normal({9, args.dim_z}, {.device = device});
  save3x3(out / "sampled.png", model.decoder(z).mean());
}

void train(const Arguments& args) {
  const auto device = get_device(args.device);
  print_banner(
      {{"Device", device}, {"# dim z", args.dim_z}, {"# Minibatch-size", args.batch_size}, {"# epoch", args.epoch}});

  // Prepare VAE model, defined in net.h
  AvgElboLoss model(Encoder(784, args.dim_z, args.dim_h), Decoder(784, args.dim_z, args.dim_h),
                    {.beta = args.beta, .k = args.k});
  model.to(device);

  // Set up an optimizer
  optimizers::Adam optimizer;
  optimizer.setup(model);

  // If initial parameters are given, initialize the model with them.
  if (!args.initmodel.empty()) serializers::load_npz(args.initmodel, model);

  // Load the MNIST dataset
  const auto digits = load_digits(args.data);
  const auto train = images_of(digits.train, args), test = images_of(digits.test, args);
  iterators::SerialIterator train_iter(train, args.batch_size);
  iterators::SerialIterator test_iter(test, args.batch_size, {.repeat = false, .shuffle = false});

  // Set up the trainer and extensions
  updaters::StandardUpdater updater(train_iter, optimizer, {.device = device});
  training::Trainer trainer(updater, {args.epoch, "epoch"}, args.out);
  trainer.extend(extensions::Evaluator(test_iter, model, {.device = device}));
  trainer.extend(extensions::dump_graph("main/loss"));
  trainer.extend(extensions::snapshot(), {.trigger = {args.epoch, "epoch"}});
  extensions::LogReport log;
  trainer.extend(log);
  trainer.extend(extensions::PrintReport(
      {"epoch", "main/loss", "validation/main/loss", "main/reconstr", "main/kl_penalty", "elapsed_time"}));
  trainer.extend(extensions::ProgressBar());

  // If snapshot file is given, resume the training.
  if (!args.resume.empty()) serializers::load_npz(args.resume, trainer);

  // Run the training
  trainer.run();

  // Save images for demonstration
  save_images(args, device, model, train, test);

  const auto& last = log.last();
  std::printf("Test ELBO: %.2f\n", last.at("validation/main/reconstr") - last.at("validation/main/kl_penalty"));
}

}  // namespace

int main(int argc, char** argv) { return run_program<Arguments>(argc, argv, "Kusari example: VAE", train); }
