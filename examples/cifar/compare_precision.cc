// Trains networks on CIFAR-10 in every precision and prints what each costs and gives: seconds per epoch, speed-up
// against float32, accuracy, memory. Writes the table as Markdown and JSON, and a picture.
//
//   compare_precision --device cuda:0
//   compare_precision --model small --mode float32 float16 bfloat16 --train-images 5000 --epoch 4
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/cifar/data.h"
#include "kusari/examples/cifar/models.h"
#include "kusari/examples/cifar/precision_report.h"
#include "kusari/examples/common/flags.h"
#include "kusari/examples/precision.h"
#include "kusari/framework/core/backend.h"

using namespace kusari;

namespace {

struct Mode {
  std::string name;
  PrecisionFlags precision;
  bool use_tf32 = true;
};

const std::vector<Mode> kModes{
    {"float32", {.dtype = "float32"}, false},
    {"tf32", {.dtype = "float32"}},
    {"float16", {.dtype = "float16"}},
    {"mixed16", {.dtype = "mixed16"}},
    {"bfloat16", {.dtype = "bfloat16"}},
    {"mixed_bf16", {.dtype = "mixed_bf16"}},
    {"autocast", {.amp = "autocast"}},
    {"O1", {.amp = "O1"}},
    {"O2", {.amp = "O2"}},
    {"rewrite", {.amp = "rewrite"}},
    {"to_fp16", {.amp = "to_fp16"}},
    {"plain_float16", {.dtype = "float16", .loss_scale = "none", .use_fp32_update = false}},
};

std::vector<std::string> mode_names() {
  std::vector<std::string> names;
  for (const Mode& mode : kModes) names.push_back(mode.name);
  return names;
}

struct Arguments : Flags {
  std::vector<std::string> models = value<std::vector<std::string>>("-m,--model", {"resnet18", "resnet50", "cnn"},
                                                                    "The networks to train", key_of(kModels));
  std::vector<std::string> modes = value<std::vector<std::string>>(
      "--mode", {}, "The precisions to train in (default: all that the device has)", one_of(mode_names()));
  int64_t train_images = number("--train-images", -1, "Train with the first N images only");
  int64_t test_images = number("--test-images", -1, "Test with the first N images only");
  int64_t batchsize = count("-b,--batchsize", 128, "Number of images in each mini-batch");
  int64_t epoch = count("-e,--epoch", 10, "Number of sweeps over the images");
  double learnrate = real("-l,--learnrate", 0.05, "Highest learning rate for SGD");
  std::vector<int64_t> seeds = value<std::vector<int64_t>>("--seed", {0}, "Seeds; the accuracy is the mean over them");
  std::string device = device_flag();
  std::string data =
      text("--data", "", "Folder of CIFAR-10: binary files or tar shards (default: find or download it)");
  std::string out = text("-o,--out", "result", "Directory for the table and the picture");
  bool autotune = flag("--autotune", "Measure which way of computing each convolution is the fastest");
};

datasets::SubDataset first(const datasets::DatasetRef& dataset, int64_t count) {
  return {dataset, 0, count < 0 ? dataset->size() : std::min(count, dataset->size())};
}

// The pool of a device: bytes in use now and at the most since the last reset.
struct Pool {
  explicit Pool(const Device& device) : device_{device} {
    device_.backend().reset_max_allocated(device_.index());
    before_ = statistics().allocated;
  }
  double peak_mib() const { return static_cast<double>(statistics().max_allocated - before_) / (1 << 20); }

 private:
  memory::Statistics statistics() const { return device_.backend().memory_statistics(device_.index()); }

  Device device_;
  int64_t before_;
};

Run train(const Arguments& args, const std::string& name, const Mode& mode, int64_t seed,
          const datasets::TrainTest& data) {
  const auto device = get_device(args.device);
  random::seed(static_cast<uint64_t>(seed));
  global_config().use_tf32 = mode.use_tf32;
  set_dtype(mode.precision);
  const Pool pool(device);

  auto model = L::classifier(kModels.at(name)(10));
  model.to(device);
  optimizers::MomentumSGD optimizer(args.learnrate);
  optimizer.setup(model);
  const auto session = set_up_precision(mode.precision, optimizer);
  optimizer.add_hook(optimizer_hooks::WeightDecay(5e-4));

  const auto converter = datasets::image_converter({.mean = {125.3, 123.0, 113.9}, .deviation = {63.0, 62.1, 66.7}});
  const datasets::TransformDataset augmented(
      first(data.train, args.train_images),
      transforms::on_image(transforms::Pad{4}, transforms::RandomCrop{32}, transforms::RandomFlip{}));
  iterators::SerialIterator train_iter(augmented, args.batchsize);
  iterators::SerialIterator test_iter(first(data.test, args.test_images), 250, {.repeat = false, .shuffle = false});

  updaters::StandardUpdater updater(train_iter, optimizer, {.converter = converter, .device = device});
  training::Trainer trainer(updater, {args.epoch, "epoch"}, args.out);
  const int64_t iterations = (augmented.size() * args.epoch + args.batchsize - 1) / args.batchsize;
  trainer.extend(kusari::extensions::OneCycleShift("lr", iterations), {.trigger = {1, "iteration"}});
  trainer.extend(extensions::Evaluator(test_iter, model, {.converter = converter, .device = device}));

  // The clock stands still between the end of an epoch, before the evaluation, and the beginning of the next.
  Run run{.model = name, .mode = mode.name, .seed = seed, .seconds = {}, .accuracies = {}, .peak_mib = 0};
  auto start = std::chrono::steady_clock::now();
  trainer.extend(
      [&](training::Trainer&) {
        synchronize(device);
        run.seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
        if (run.seconds.size() == 1) run.peak_mib = pool.peak_mib();  // before the first evaluation
      },
      {.name = "stop_clock", .trigger = {1, "epoch"}, .priority = training::kPriorityWriter + 1});
  trainer.extend(
      [&](training::Trainer& t) {
        run.accuracies.push_back(t.observation().at("validation/main/accuracy"));
        start = std::chrono::steady_clock::now();
      },
      {.name = "start_clock", .trigger = {1, "epoch"}, .priority = 0});
  trainer.run();
  return run;
}

void compare(const Arguments& args) {
  if (args.autotune) global_config().autotune = true;
  const bool has_tf32 = !get_device(args.device).is_cpu();
  const datasets::TrainTest data = load_cifar("cifar10", args.data);
  std::vector<Run> runs;
  for (const std::string& model : args.models) {
    for (const Mode& mode : kModes) {
      const bool is_wanted = args.modes.empty() || std::count(args.modes.begin(), args.modes.end(), mode.name) > 0;
      if (!is_wanted || (mode.name == "tf32" && !has_tf32)) continue;
      for (const int64_t seed : args.seeds) {
        std::printf("%s, %s, seed %lld: ", model.c_str(), mode.name.c_str(), static_cast<long long>(seed));
        std::fflush(stdout);
        runs.push_back(train(args, model, mode, seed, data));
        std::printf("%.2f %% after %.1f s\n", 100 * runs.back().accuracies.back(),
                    std::accumulate(runs.back().seconds.begin(), runs.back().seconds.end(), 0.0));
        write_report(runs, args.out);
      }
    }
  }
  std::printf("\n%s", markdown(summarize(runs)).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<Arguments>(argc, argv, "Kusari example: CIFAR-10 in every precision", compare);
}
