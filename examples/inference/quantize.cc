// Trains a network on images, tells what 8 bits cost it, trains with them for a while, and writes it as an ONNX file:
//
//   quantize --data cifar10-jpeg --model resnet18 --epoch 10
//   quantize --data imagenette --model mobilenetv2 --epoch 60 --batchsize 32
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <kusari/framework/onnx/export_model.h>
#include <kusari/kusari.h>

#include "kusari/examples/cifar/data.h"
#include "kusari/examples/cifar/models.h"
#include "kusari/examples/common/banner.h"
#include "kusari/examples/common/flags.h"

using namespace kusari;
namespace fs = std::filesystem;

namespace {

struct Arguments : Flags {
  std::string data = text("--data", "",
                          "Folder with train*.tar and test*.tar or val*.tar, with CIFAR-10's binary files, or digits: "
                          "drawn ones (default: find or download CIFAR-10)");
  std::string model = text("-m,--model", "resnet18", "The network", key_of(kModels));
  int64_t batchsize = count("-b,--batchsize", 128, "Number of images in each mini-batch");
  double learnrate = real("-l,--learnrate", 0.1, "Highest learning rate for SGD");
  int64_t epoch = count("-e,--epoch", 10, "Number of sweeps over the data set in float32");
  int64_t int8_epoch = number("--int8-epoch", 1, "Number of sweeps with 8 bits", not_negative());
  double int8_learnrate = real("--int8-learnrate", 0.002, "Highest learning rate of those");
  int64_t calibration = count("--calibration", 512, "Number of training images whose ranges are looked at");
  std::string method = choice("--method", {"min_max", "percentile", "entropy"}, "percentile", "How ranges follow");
  std::vector<std::string> exclude =
      value<std::vector<std::string>>("--exclude", {}, "Links that stay in float32, such as /fc");
  std::string load = text("--load", "", "A network in an .npz file: no training in float32");
  std::string out = out_flag();
  int64_t seed = seed_flag();
};

// Images as they lie in files; numbers around 0 are made of a whole batch.
struct Images {
  datasets::TupleDataset train, test;
  int64_t side, classes;

  explicit Images(const std::string& folder) : Images(open(folder)) {}
  datasets::TransformDataset augmented() const {
    return {train,
            transforms::on_image(transforms::Pad{side / 8}, transforms::RandomCrop{side}, transforms::RandomFlip{})};
  }

 private:
  explicit Images(datasets::TrainTest sets)
      : train{std::move(sets.train)},
        test{std::move(sets.test)},
        side{train.arrays()[0].shape(-1)},
        classes{std::ranges::max(train.arrays()[1].to_vector<int>()) + 1} {}
  static datasets::TrainTest open(const std::string& folder) {
    const auto train = find_shards(folder, "train"), val = find_shards(folder, "val");
    if (!train.empty() && !val.empty()) return {load_shards(train), load_shards(val)};
    return load_cifar("cifar10", folder);
  }
};

const datasets::Converter kConverter =
    datasets::image_converter({.mean = {125.3, 123.0, 113.9}, .deviation = {63.0, 62.1, 66.7}});

AnyLink make_network(const Arguments& args, const Images& images) {
  const bool is_small = images.side <= 64;
  if (args.model == "mobilenetv2" && !is_small) return L::MobileNetV2({.n_classes = images.classes});
  if (args.model == "resnet18" && !is_small) return L::ResNet18({.n_classes = images.classes});
  return kModels.at(args.model)(images.classes);
}

// Sweeps whose learning rate rises and falls to zero.
template <class Model>
void train(Model& model, const Images& images, const Arguments& args, int64_t epochs, double learnrate) {
  optimizers::MomentumSGD optimizer(learnrate);
  optimizer.setup(model);
  optimizer.add_hook(optimizer_hooks::WeightDecay(5e-4));
  const auto augmented = images.augmented();
  iterators::MultithreadIterator iterator(augmented, args.batchsize);
  updaters::StandardUpdater updater(iterator, optimizer,
                                    {.converter = kConverter, .prefetch = 2, .static_graph = true});
  training::Trainer trainer(updater, {epochs, "epoch"}, args.out);
  const int64_t iterations = (images.train.size() * epochs + args.batchsize - 1) / args.batchsize;
  trainer.extend(extensions::OneCycleShift("lr", iterations), {.trigger = {1, "iteration"}});
  trainer.extend(extensions::LogReport({.filename = std::nullopt}));
  trainer.extend(extensions::PrintReport({"epoch", "main/loss", "main/accuracy", "elapsed_time"}));
  trainer.run();
}

// How many of the test images a network names, in percent. A session of a quantized one computes with integers.
template <class Network>
double accuracy(const Network& network, const Images& images) {
  const InferenceSession session(network);
  int64_t right = 0;
  for (const auto& examples : iterators::SerialIterator(images.test, 100, {.repeat = false, .shuffle = false})) {
    const datasets::Example batch = kConverter(examples, Device());
    const auto guesses = F::argmax(session.run({batch[0]})[0], 1).to_vector<int>();
    const auto labels = batch[1].to_vector<int>();
    for (size_t i = 0; i < labels.size(); ++i) right += guesses[i] == labels[i] ? 1 : 0;
  }
  return 100 * static_cast<double>(right) / static_cast<double>(images.test.size());
}

quantization::Method method_of(const std::string& name) {
  if (name == "min_max") return quantization::min_max();
  return name == "entropy" ? quantization::entropy() : quantization::percentile(99.99);
}

void quantize(const Arguments& args) {
  const Images images(args.data);
  print_banner({{"Model", args.model},
                {"# images", images.train.size()},
                {"# test images", images.test.size()},
                {"Side", images.side}});
  fs::create_directories(args.out);
  const auto path = [&](const char* name) { return (fs::path(args.out) / name).string(); };

  auto model = L::classifier(make_network(args, images));
  AnyLink& network = model.predictor;
  if (args.load.empty()) {
    train(model, images, args, args.epoch, args.learnrate);
    serializers::save_npz(path("float32.npz"), network);
  } else {
    serializers::load_npz(args.load, network);
  }
  const double in_float = accuracy(network, images);
  std::printf("float32: %.2f %%\n", in_float);

  // The calibrator looks at what the layers get, as the network runs
  quantization::Calibrator calibrator(network, {.method = method_of(args.method), .exclude = args.exclude});
  iterators::SerialIterator some(images.train, 64);
  for (int64_t seen = 0; seen < args.calibration; seen += 64) calibrator.observe(kConverter(some.next(), Device())[0]);
  const double in_int8 = accuracy(calibrator.quantized(), images);
  std::printf("int8: %.2f %% (%+.2f)\n", in_int8, in_int8 - in_float);
  const auto errors = calibrator.errors();
  for (size_t i = 0; i < std::min<size_t>(3, errors.size()); ++i) {
    std::printf("  %s alone changes its result by %.2f %%\n", errors[i].name.c_str(), 100 * errors[i].error);
  }
  if (args.int8_epoch == 0) return;

  // Gradients go straight through the rounding, so the network trains as it did; its ranges follow what they see
  auto quantized = L::classifier(calibrator.quantized({.range_decay = 0.99}));
  train(quantized, images, args, args.int8_epoch, args.int8_learnrate);
  quantization::Quantized<AnyLink>& int8 = quantized.predictor;
  int8.freeze();
  const double trained = accuracy(int8, images);
  std::printf("int8, trained: %.2f %% (%+.2f)\n", trained, trained - in_float);

  // With QuantizeLinear and DequantizeLinear, which other runtimes know too
  const Array image = zeros({1, 3, images.side, images.side}, Dtype::float32);
  onnx::export_model(int8, {Variable(image, false)}, path("int8.onnx"), {.dynamic_batch = true});
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<Arguments>(argc, argv, "Kusari example: what 8 bits cost a network", quantize);
}
