// Trains WaveNet to go on with sounds, given their spectrum: on WAV files, such as those of the VCTK corpus, or on
// melodies that it draws.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/common/banner.h"
#include "kusari/examples/common/flags.h"
#include "kusari/examples/wavenet/net.h"
#include "kusari/examples/wavenet/size_flags.h"
#include "kusari/examples/wavenet/sound.h"

using namespace kusari;

namespace {

struct Arguments : Flags {
  int64_t batchsize = count("-b,--batchsize", 4, "Number of pieces of sound in each mini-batch");
  int64_t length = count("-l,--length", 7680, "Number of samples in each piece, a multiple of 64");
  int64_t epoch = count("-e,--epoch", 100, "Number of sweeps over the dataset to train");
  double alpha = real("--alpha", 1e-3, "Step size of Adam", positive());
  std::string device = device_flag();
  std::string dataset = text("-i,--dataset", "generated", "A folder of WAV files, or generated: melodies");
  int64_t melodies = number("--melodies", 40, "How many melodies of 4 seconds", between(2, 1000000));
  std::string out = out_flag();
  std::string resume = resume_flag();
  WaveNetSizes sizes = size_flags(*this);
  int64_t process = number("--process", 1, "Number of processes that prepare batches", not_negative());
  int64_t prefetch = count("--prefetch", 8, "Number of batches that they prepare ahead");
  int64_t snapshot_interval = count("--snapshot_interval", 10000, "Interval of snapshot");
  int64_t display_interval = count("--display_interval", 100, "Interval of displaying log to console");
  int64_t seed = number("--seed", 0, "Random seed", not_negative());
};

void train(const Arguments& args) {
  if (args.length % kHop != 0) throw ValueError("--length is " + std::to_string(args.length) + ": no multiple of 64");
  random::seed(static_cast<uint64_t>(args.seed));
  const auto device = get_device(args.device);
  print_banner({{"Device", device},
                {"# Minibatch-size", args.batchsize},
                {"# epoch", args.epoch},
                {"# receptive field", args.sizes.receptive_field()}});

  // One sound of ten is kept for the test
  std::vector<Sound> train_sounds, test_sounds;
  for (Sound& sound : load_sounds(args.dataset, args.melodies)) {
    (train_sounds.size() >= 9 * (test_sounds.size() + 1) ? test_sounds : train_sounds).push_back(std::move(sound));
  }
  if (test_sounds.empty()) {
    test_sounds.push_back(std::move(train_sounds.back()));
    train_sounds.pop_back();
  }
  const Pieces train_set(std::move(train_sounds), args.length, args.sizes.a_channels);
  const Pieces test_set(std::move(test_sounds), args.length, args.sizes.a_channels);

  // Set up a network to train, and an optimizer
  auto model = L::classifier(WaveNet(kBands, args.sizes));
  model.to(device);
  optimizers::Adam optimizer({.alpha = args.alpha});
  optimizer.setup(model);

  // Set up a trainer
  iterators::MultiprocessIterator train_iter(train_set, args.batchsize,
                                             {.n_processes = args.process, .n_prefetch = args.prefetch});
  iterators::SerialIterator test_iter(test_set, args.batchsize, {.repeat = false, .shuffle = false});
  updaters::StandardUpdater updater(train_iter, optimizer, {.device = device});
  training::Trainer trainer(updater, {args.epoch, "epoch"}, args.out);
  const training::TriggerRef display(args.display_interval, "iteration");
  trainer.extend(extensions::Evaluator(test_iter, model, {.device = device}));
  trainer.extend(extensions::snapshot(), {.trigger = {args.snapshot_interval, "iteration"}});
  trainer.extend(extensions::LogReport({.trigger = display}));
  trainer.extend(extensions::PrintReport({"epoch", "iteration", "main/loss", "main/accuracy", "validation/main/loss",
                                          "validation/main/accuracy"}),
                 {.trigger = display});
  trainer.extend(extensions::ProgressBar({.update_interval = 10}));
  if (!args.resume.empty()) serializers::load_npz(args.resume, trainer);

  // Run the training
  trainer.run();

  serializers::save_npz((std::filesystem::path(args.out) / "wavenet.model").string(), model.predictor);
  const auto means = extensions::Evaluator(test_iter, model, {.device = device})();
  std::printf("Test loss: %.3f nats for each sample (%.3f where nothing is known)\n", means.front().second,
              std::log(static_cast<double>(args.sizes.a_channels)));
}

}  // namespace

int main(int argc, char** argv) { return run_program<Arguments>(argc, argv, "Kusari example: WaveNet", train); }
