// Trains a DCGAN: a generator of small pictures, against a discriminator that tells them from real ones.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/common/banner.h"
#include "kusari/examples/common/colored_digits.h"
#include "kusari/examples/common/flags.h"
#include "kusari/examples/common/tiles.h"
#include "kusari/examples/dcgan/net.h"
#include "kusari/examples/dcgan/updater.h"

using namespace kusari;

namespace {

struct Arguments : Flags {
  int64_t batchsize = count("-b,--batchsize", 50, "Number of images in each mini-batch");
  int64_t epoch = count("-e,--epoch", 1000, "Number of sweeps over the dataset to train");
  std::string device = device_flag();
  std::string dataset = text("-i,--dataset", "",
                             "Directory of image files of 32x32, or digits: generated ones.  Default is cifar-10, or "
                             "digits where there is no way to it");
  std::string out = out_flag();
  std::string resume = resume_flag();
  int64_t n_hidden = count("-n,--n_hidden", 100, "Number of hidden units (z)");
  int64_t channels = count("--channels", 512, "Channels of the widest layers, a multiple of 8");
  int64_t seed = number("--seed", 0, "Seed of the random numbers");
  int64_t snapshot_interval = count("--snapshot_interval", 1000, "Interval of snapshot");
  int64_t display_interval = count("--display_interval", 100, "Interval of displaying log to console");
  int64_t images = count("--images", 10000, "Number of generated digits");
};

// Images alone, of 0 .. 255.
datasets::DatasetRef load_images(const Arguments& args) {
  if (!args.dataset.empty() && args.dataset != "digits") {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(args.dataset)) {
      const std::string kind = entry.path().extension().string();
      if (kind == ".png" || kind == ".jpg") files.push_back(entry.path().filename().string());
    }
    std::sort(files.begin(), files.end());
    std::printf("%s contains %zu image files\n", args.dataset.c_str(), files.size());
    return datasets::ImageDataset(files, {.root = args.dataset});
  }
  if (args.dataset.empty()) {
    try {
      return datasets::get_cifar10({.with_label = false, .scale = 255}).train;
    } catch (const IoError&) {
      std::printf("CIFAR-10 is neither there nor to be downloaded: training on generated digits instead\n");
    }
  }
  const Array pixels = colored_digits(args.images, static_cast<uint64_t>(args.seed)).arrays()[0];
  return datasets::TupleDataset(pixels.astype(Dtype::float32));
}

template <class Model>
void set_up(optimizers::Adam& optimizer, Model& model) {
  optimizer.setup(model);
  optimizer.add_hook(optimizer_hooks::WeightDecay(0.0001));
}

void train(const Arguments& args) {
  random::seed(static_cast<uint64_t>(args.seed));
  const auto device = get_device(args.device);
  print_banner({{"Device", device},
                {"# Minibatch-size", args.batchsize},
                {"# n_hidden", args.n_hidden},
                {"# epoch", args.epoch}});

  // Set up the networks to train, and their optimizers
  Generator gen(args.n_hidden, args.channels);
  Discriminator dis(args.channels);
  gen.to(device);
  dis.to(device);
  optimizers::Adam gen_optimizer({.alpha = 0.0002, .beta1 = 0.5}), dis_optimizer({.alpha = 0.0002, .beta1 = 0.5});
  set_up(gen_optimizer, gen);
  set_up(dis_optimizer, dis);

  const auto images = load_images(args);
  iterators::SerialIterator train_iter(images, args.batchsize);

  // Set up a trainer
  DcganUpdater updater(train_iter, gen, dis, gen_optimizer, dis_optimizer, device);
  training::Trainer trainer(updater, {args.epoch, "epoch"}, args.out);
  const training::TriggerRef snapshots(args.snapshot_interval, "iteration"),
      display(args.display_interval, "iteration");
  trainer.extend(extensions::snapshot({.filename = "snapshot_iter_{.updater.iteration}.npz"}), {.trigger = snapshots});
  trainer.extend(extensions::snapshot_object(gen, "gen_iter_{.updater.iteration}.npz"), {.trigger = snapshots});
  trainer.extend(extensions::snapshot_object(dis, "dis_iter_{.updater.iteration}.npz"), {.trigger = snapshots});
  trainer.extend(extensions::LogReport({.trigger = display}));
  trainer.extend(extensions::PrintReport({"epoch", "iteration", "gen/loss", "dis/loss"}), {.trigger = display});
  trainer.extend(extensions::ProgressBar({.update_interval = 10}));

  // Draw a hundred images, always of the same random numbers
  const Variable z = gen.make_hidden(100);
  trainer.extend(
      [&](training::Trainer& t) {
        const auto test_mode = using_config(&Config::train, false);
        const auto no_graph = no_backprop_mode();
        char name[32];
        std::snprintf(name, sizeof(name), "image%08d.png", static_cast<int>(t.updater().iteration()));
        save_tiles(std::filesystem::path(args.out) / "preview" / name, gen(z), 10, 10);
      },
      {.name = "out_generated_image", .trigger = snapshots});

  if (!args.resume.empty()) serializers::load_npz(args.resume, trainer);

  // Run the training
  trainer.run();
}

}  // namespace

int main(int argc, char** argv) { return run_program<Arguments>(argc, argv, "Kusari example: DCGAN", train); }
