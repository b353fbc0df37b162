// Trains pix2pix: pictures of houses after plans of their facades.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/common/banner.h"
#include "kusari/examples/common/flags.h"
#include "kusari/examples/common/tiles.h"
#include "kusari/examples/pix2pix/facades.h"
#include "kusari/examples/pix2pix/net.h"
#include "kusari/examples/pix2pix/updater.h"

using namespace kusari;

namespace {

struct Arguments : Flags {
  int64_t batchsize = count("-b,--batchsize", 1, "Number of images in each mini-batch");
  int64_t epoch = count("-e,--epoch", 200, "Number of sweeps over the dataset to train");
  std::string device = device_flag();
  std::string out = out_flag();
  std::string resume = resume_flag();
  int64_t seed = number("--seed", 0, "Random seed", not_negative());
  int64_t snapshot_interval = count("--snapshot_interval", 1000, "Interval of snapshot");
  int64_t display_interval = count("--display_interval", 100, "Interval of displaying log to console");
  int64_t images = count("--images", 300, "Number of facades, which are drawn");
  int64_t size = number("--size", 256, "Height and width of the images", one_of({16, 32, 64, 128, 256}));
  int64_t channels = count("--channels", 64, "Channels of the first layer, a multiple of 2");
};

template <class Model>
void set_up(optimizers::Adam& optimizer, Model& model) {
  optimizer.setup(model);
  optimizer.add_hook(optimizer_hooks::WeightDecay(0.00001));
}

// How far pictures are from those that they should be, on average.
double test_error(const Facades& facades, const Encoder& enc, const Decoder& dec, const Device& device) {
  const auto test_mode = using_config(&Config::train, false);
  const auto no_graph = no_backprop_mode();
  double sum = 0;
  for (int64_t i = 0; i < facades.size(); ++i) {
    const auto batch = datasets::concat_examples(std::vector{facades.get(i)}, device);
    sum += F::mean_absolute_error(dec(enc(batch[0])), batch[1]).item<double>();
  }
  return sum / static_cast<double>(facades.size());
}

void train(const Arguments& args) {
  random::seed(static_cast<uint64_t>(args.seed));
  const auto device = get_device(args.device);
  print_banner({{"Device", device}, {"# Minibatch-size", args.batchsize}, {"# epoch", args.epoch}});

  // Set up the networks to train, and their optimizers
  const auto channels = unet_channels(args.size, args.channels);
  Encoder enc(Facades::kKinds, channels);
  Decoder dec(3, channels);
  Discriminator dis(Facades::kKinds, 3, args.channels);
  enc.to(device);
  dec.to(device);
  dis.to(device);
  optimizers::Adam enc_optimizer({.alpha = 0.0002, .beta1 = 0.5});
  optimizers::Adam dec_optimizer({.alpha = 0.0002, .beta1 = 0.5});
  optimizers::Adam dis_optimizer({.alpha = 0.0002, .beta1 = 0.5});
  set_up(enc_optimizer, enc);
  set_up(dec_optimizer, dec);
  set_up(dis_optimizer, dis);

  const Facades train_set(args.images, args.size, 0), test_set(16, args.size, 1);
  iterators::SerialIterator train_iter(train_set, args.batchsize);
  std::printf("test error before: %.4f\n", test_error(test_set, enc, dec, device));

  // Set up a trainer
  FacadeUpdater updater(train_iter, {enc, dec, dis},
                        {{"enc", enc_optimizer}, {"dec", dec_optimizer}, {"dis", dis_optimizer}}, device);
  training::Trainer trainer(updater, {args.epoch, "epoch"}, args.out);
  const training::TriggerRef snapshots(args.snapshot_interval, "iteration"),
      display(args.display_interval, "iteration");
  trainer.extend(extensions::snapshot({.filename = "snapshot_iter_{.updater.iteration}.npz"}), {.trigger = snapshots});
  trainer.extend(extensions::snapshot_object(enc, "enc_iter_{.updater.iteration}.npz"), {.trigger = snapshots});
  trainer.extend(extensions::snapshot_object(dec, "dec_iter_{.updater.iteration}.npz"), {.trigger = snapshots});
  trainer.extend(extensions::snapshot_object(dis, "dis_iter_{.updater.iteration}.npz"), {.trigger = snapshots});
  trainer.extend(extensions::LogReport({.trigger = display}));
  trainer.extend(extensions::PrintReport({"epoch", "iteration", "enc/loss", "dec/loss", "dis/loss"}),
                 {.trigger = display});
  trainer.extend(extensions::ProgressBar({.update_interval = 10}));

  // Draw the houses of the test's plans: what was made, and below it what it should be
  trainer.extend(
      [&](training::Trainer& t) {
        const auto test_mode = using_config(&Config::train, false);
        const auto no_graph = no_backprop_mode();
        const auto batch = datasets::concat_examples(test_set.slice({.stop = 5}), device);
        const auto pictures = F::concat({dec(enc(batch[0])), batch[1]}, 0);
        char name[32];
        std::snprintf(name, sizeof(name), "image%08d.png", static_cast<int>(t.updater().iteration()));
        save_tiles(std::filesystem::path(args.out) / "preview" / name, F::clip(pictures * 0.5 + 0.5, 0, 1), 2, 5);
      },
      {.name = "out_image", .trigger = snapshots});

  if (!args.resume.empty()) serializers::load_npz(args.resume, trainer);

  // Run the training
  trainer.run();

  std::printf("test error after: %.4f\n", test_error(test_set, enc, dec, device));
}

}  // namespace

int main(int argc, char** argv) { return run_program<Arguments>(argc, argv, "Kusari example: pix2pix", train); }
