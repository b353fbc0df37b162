// Trains a detector: RetinaNet, Faster R-CNN, EfficientDet or SSD, on blood cells (BCCD), COCO, Pascal VOC, or drawn
// shapes.
//
//   train_detection --data bccd --root bccd-voc.tar --model retinanet_resnet18
//   train_detection --data coco --root coco --model efficientdet_d0 --batchsize 64 --fp16 --device 0
//   train_detection --data generated --size 128 --epoch 20
//
// What it trained is in the output directory: detect and eval_detection read it with --result.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/common/banner.h"
#include "kusari/examples/detection/augmentation.h"
#include "kusari/examples/detection/data.h"
#include "kusari/examples/detection/detectors.h"
#include "kusari/examples/training_flags.h"

using namespace kusari;

namespace {

struct Arguments : TrainingArguments {
  Arguments() : TrainingArguments({.batchsize = 8, .epoch = 100}) {}

  DataFlags data = data_flags(*this);
  std::string model = text("-m,--model", "retinanet_resnet18", "The network to train", one_of(kDetectors));
  int64_t size = number("--size", 512,
                        "Images are brought in proportion into squares of this side (ssd300: 300, out of proportion)",
                        between(64, 2048));
  double anchor_scale =
      real("--anchor-scale", 4,
           "Size of RetinaNet's and Faster R-CNN's smallest anchors, in strides of 8 pixels; less for small images of "
           "small things",
           between(0.5, 16.0));
  bool frozen_bn = flag("--frozen-bn", "The ResNet's normalizations do not learn: for trained weights");
  std::string initmodel = text("--initmodel", "", "Begin with the weights in this file");
  AugmentationFlags augmentation = augmentation_flags(*this);
  std::string optimizer = choice("--optimizer", {"momentum_sgd", "adamw"}, "momentum_sgd", "How parameters learn");
  double learnrate =
      real("-l,--learnrate", 0, "Highest learning rate (0: that of the paper for the size of the batch; adamw: 5e-4)");
  double weight_decay = real("--weight-decay", -1, "Decay of weights (negative: that of the paper; adamw: 0.05)");
  double clip = real("--clip", 10, "Largest norm of all gradients (0: any)", not_negative());
  int64_t warmup =
      number("--warmup", -1, "Steps in which the learning rate rises (negative: 500, but a tenth of all at most)");
  double ema = real("--ema", -1,
                    "Test and save averages of the parameters that keep this much at each step (0: none; negative: "
                    "0.9998 for EfficientDet, otherwise none)",
                    between(-1.0, 0.999999));
  int64_t loaderjob =
      number("-j,--loaderjob", 2, "Processes that prepare images and targets (0: none)", not_negative());
  int64_t eval_interval = count("--eval-interval", 1, "Epochs between two tests, and two snapshots");
  int64_t accumulate = count("--accumulate", 1, "Batches of one step");
  bool static_graph = flag("--static-graph", "Record a training step once, then replay it");
  bool fp16 = flag("--fp16", "Train in float16, normalizations in float32: --dtype mixed16");
  bool tensorboard = flag("--tensorboard", "Write event files for TensorBoard too");
};

// How the papers train them: the learning rate for an image of a batch, and the decay of weights. SSD's is four times
// the paper's, which began with a VGG16 that was trained.
struct Recipe {
  double learnrate, weight_decay, ema;
  const char* augment;
};
const std::map<std::string, Recipe> kRecipes{
    {"retinanet_resnet18", {0.01 / 16, 1e-4, 0, "flip"}},     {"retinanet_resnet50", {0.01 / 16, 1e-4, 0, "flip"}},
    {"faster_rcnn_resnet18", {0.02 / 16, 1e-4, 0, "flip"}},   {"faster_rcnn_resnet50", {0.02 / 16, 1e-4, 0, "flip"}},
    {"efficientdet_d0", {0.08 / 64, 4e-5, 0.9998, "jitter"}}, {"ssd300", {1e-3 / 8, 5e-4, 0, "ssd"}}};

// A detector with its loss, whatever class it is of.
struct Trained {
  Link& chain;
  L::Detector& detector;
  std::function<void(Optimizer&)> set_up;
};

std::unique_ptr<Optimizer> make_optimizer(const Arguments& args) {
  const Recipe& recipe = kRecipes.at(args.model);
  if (args.optimizer == "adamw") {
    return std::make_unique<optimizers::DecoupledAdamW>(
        optimizers::DecoupledAdamWOptions{.lr = args.learnrate > 0 ? args.learnrate : 5e-4,
                                          .weight_decay_rate = args.weight_decay >= 0 ? args.weight_decay : 0.05});
  }
  const auto batch = static_cast<double>(args.batchsize * args.accumulate);
  return std::make_unique<optimizers::MomentumSGD>(args.learnrate > 0 ? args.learnrate : recipe.learnrate * batch, 0.9);
}

// Doubles the learning rate of a parameter, whatever the optimizer's is.
struct DoubleRate {
  static constexpr const char* kName = "DoubleRate";
  static constexpr bool kReplays = true;
  void operator()(Parameter& parameter) const {
    const Array gradient = parameter.grad();
    gradient.copy_from(gradient * 2);
  }
};

// Weights decay, biases and normalizations do not; SSD's biases learn at twice the rate.
void add_rules(const Arguments& args, Optimizer& optimizer) {
  if (args.optimizer == "adamw") return;
  const double decay = args.weight_decay >= 0 ? args.weight_decay : kRecipes.at(args.model).weight_decay;
  for (const auto& [path, parameter] : optimizer.target().namedparams()) {
    if (path.ends_with("/W") && decay > 0) parameter->update_rule().add_hook(optimizer_hooks::WeightDecay(decay));
    if (path.ends_with("/b") && args.model == "ssd300") parameter->update_rule().add_hook(DoubleRate());
  }
}

training::TriggerRef testing_epochs(const Arguments& args) {
  std::vector<double> epochs;
  for (int64_t epoch = args.eval_interval; epoch < args.epoch; epoch += args.eval_interval) {
    epochs.push_back(static_cast<double>(epoch));
  }
  epochs.push_back(static_cast<double>(args.epoch));
  return triggers::ManualScheduleTrigger(epochs, "epoch");
}

std::shared_ptr<iterators::Iterator> training_batches(const Arguments& args, const datasets::DatasetRef& examples,
                                                      const L::Detector& detector) {
  if (args.loaderjob == 0) return std::make_shared<iterators::SerialIterator>(examples, args.batchsize);
  iterators::MultiprocessIteratorOptions options{
      .n_processes = args.loaderjob, .n_prefetch = 2, .dataset_timeout = 120};
  // Images have boxes of any number: room for 3000.
  if (looks_twice(detector)) options.shared_mem = 3 * detector.preparation.size * detector.preparation.size + (1 << 16);
  return std::make_shared<iterators::MultiprocessIterator>(examples, args.batchsize, options);
}

void train(const Arguments& args, const DetectionData& data, const Trained& trained, const Device& device) {
  L::Detector& detector = trained.detector;
  if (!args.initmodel.empty()) serializers::load_npz(args.initmodel, detector);
  trained.chain.to(device);
  detector.use_preset("evaluate");

  // Workers move images and boxes by chance, and make targets of the boxes; images stay bytes until they are on the
  // device.
  const int64_t side = detector.preparation.size;
  const auto examples = with_targets(data.train, args.augmentation, detector);
  const auto converter = detection_converter(detector);
  const auto train_iter = training_batches(args, examples, detector);
  const auto test_batches = [&] {
    return std::make_shared<iterators::MultithreadIterator>(
        data.test, args.batchsize,
        iterators::MultithreadIteratorOptions{.repeat = false, .shuffle = false, .n_threads = 1});
  };

  // Set up an optimizer
  const auto optimizer = make_optimizer(args);
  trained.set_up(*optimizer);
  const auto session = set_up_precision(args.precision, *optimizer);
  add_rules(args, *optimizer);
  if (args.clip > 0) optimizer->add_hook(optimizer_hooks::GradientClipping(args.clip));

  // Set up a trainer
  updaters::StandardUpdater updater(train_iter, *optimizer,
                                    {.converter = converter,
                                     .device = device,
                                     .prefetch = 2,
                                     .accumulate = args.accumulate,
                                     .static_graph = args.static_graph});
  training::Trainer trainer(updater, {args.epoch, "epoch"}, args.out);
  const int64_t batch = args.batchsize * args.accumulate;
  const int64_t steps = std::max<int64_t>((data.train->size() * args.epoch + batch - 1) / batch, 1);
  const int64_t warmup = args.warmup >= 0 ? args.warmup : std::min<int64_t>(500, steps / 10);
  trainer.extend(extensions::CosineShift("lr", std::max<int64_t>(steps - warmup, 1), {.warmup = warmup}),
                 {.trigger = {1, "iteration"}});

  // What is tested and saved are averages of the parameters over the steps, if wanted
  const double decay = args.ema >= 0 ? args.ema : kRecipes.at(args.model).ema;
  extensions::ExponentialMovingAverage average(trained.chain, {.decay = decay});
  if (decay > 0) trainer.extend(average);
  const auto extend = [&](training::ExtensionRef extension) {
    if (decay > 0) extension = extensions::with_average(average, std::move(extension));
    trainer.extend(std::move(extension), {.trigger = testing_epochs(args)});
  };
  const extensions::DetectionEvaluatorOptions names{.label_names = data.label_names};
  const bool is_coco = args.data.data == "coco";
  if (is_coco) {
    extend(extensions::DetectionCOCOEvaluator(test_batches(), detector, names));
  } else {
    extend(extensions::DetectionVOCEvaluator(test_batches(), detector, {}, names));
  }
  extend(extensions::DetectionVisReport(test_batches(), detector,
                                        {.vis = {.label_names = data.label_names}, .score_thresh = 0.3}));
  extend(extensions::snapshot_object(detector, "model.npz"));

  const std::vector<std::pair<std::string, std::string>> configuration{
      {"data", args.data.data},
      {"model", args.model},
      {"side of images", std::to_string(side)},
      {"batch size", std::to_string(args.batchsize)},
      {"augmentation", augmentation_of(args.augmentation)}};
  trainer.extend(extensions::HtmlReport({.configuration = configuration}));
  if (args.tensorboard) trainer.extend(extensions::TensorBoardReport({.configuration = configuration}));

  std::vector<std::string> columns{"epoch",         "iteration",      "main/loss",
                                   "main/loss/loc", "main/loss/conf", "validation/main/map"};
  if (is_coco) columns.emplace_back("validation/main/map50");
  columns.emplace_back("elapsed_time");
  const auto last = run_training(trainer, args, columns, testing_epochs(args));

  if (const auto* boxes = dynamic_cast<const datasets::BboxDataset*>(data.test.get()); boxes && boxes->broken() > 0) {
    std::printf("# broken test images: %lld\n", static_cast<long long>(boxes->broken()));
  }
  if (is_coco) std::printf("Test mAP50: %.3f\n", last.at("validation/main/map50"));
  std::printf("Test mAP: %.3f\n", last.at("validation/main/map"));
}

void run(Arguments args) {
  if (args.fp16) set_dtype({.dtype = args.precision.dtype = "mixed16"});
  if (args.augmentation.augment.empty()) args.augmentation.augment = kRecipes.at(args.model).augment;
  const auto device = get_device(args.device);
  print_lines({{"Device", device},
               {"Model", args.model},
               {"Dtype", std::string(name(get_dtype()))},
               {"# Minibatch-size", args.batchsize},
               {"# epoch", args.epoch}});
  const DetectionData data = load_detection_data(args.data);
  std::printf("\n");
  const DetectorSpec spec{.model = args.model,
                          .label_names = data.label_names,
                          .size = args.size,
                          .anchor_scale = args.anchor_scale,
                          .frozen_bn = args.frozen_bn};
  std::filesystem::create_directories(args.out);
  save_spec(args.out, spec);
  with_detector(spec, [&](auto detector) {
    L::DetectionTrainChain<decltype(detector)> chain(std::move(detector));
    train(args, data, {chain, chain.model, [&](Optimizer& optimizer) { optimizer.setup(chain); }}, device);
  });
}

}  // namespace

int main(int argc, char** argv) { return run_program<Arguments>(argc, argv, "Kusari example: object detection", run); }
