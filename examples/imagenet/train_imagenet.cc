// Trains a large convolutional network on ImageNet or on any other folder of images.
//
// Images come as a list file with lines "path label", as Caffe's ImageDataLayer and Chainer's example have it, as a
// folder with a folder for each class, or as a tar archive of such a folder. They are scaled and cropped to the size of
// the mean image unless they have it already. Compute that first:
//
//   compute_mean train.txt
//   train_imagenet train.txt val.txt --arch resnet50
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/common/banner.h"
#include "kusari/examples/common/flags.h"
#include "kusari/examples/imagenet/archs.h"
#include "kusari/examples/imagenet/images.h"
#include "kusari/examples/imagenet/loader.h"
#include "kusari/examples/precision.h"

using namespace kusari;

namespace {

struct Arguments : Flags {
  std::string train =
      text("train", "", "Training images: an image-label list file, or a folder or tar of classes", required());
  std::string val = text("val", "", "Validation images, likewise", required());
  std::string arch = text("-a,--arch", "nin", "Convnet architecture", checked(CLI::IsMember(&kArchs)));
  int64_t batchsize = count("-B,--batchsize", 32, "Learning minibatch size");
  bool static_graph = flag("--static-graph", "Record a training step once, then replay it");
  int64_t epoch = count("-E,--epoch", 10, "Number of epochs to train");
  std::string device = device_flag();
  std::string initmodel = text("--initmodel", "", "Initialize the model from given file");
  std::string mean = text("-m,--mean", "mean.npy", "Mean file (computed by compute_mean)");
  std::string resume = text("-r,--resume", "", "Initialize the trainer from given file");
  std::string out = text("-o,--out", "result", "Output directory");
  std::string root = text("-R,--root", ".", "Root directory path of the image files of a list");
  int64_t val_batchsize = count("-b,--val_batchsize", 250, "Validation minibatch size");
  bool test = flag("--test", "Validate, log and save at every iteration");
  PrecisionFlags precision = precision_flags(*this);
  LoaderFlags loader = loader_flags(*this);
};

Array load_mean(const std::string& path) {
  if (!std::filesystem::exists(path)) {
    throw IoError("there is no mean image " + path + ": compute it with compute_mean, or name it with --mean");
  }
  const Array mean = serializers::load_npy(path);
  if (mean.ndim() != 3 || mean.shape(0) != 3 || mean.shape(1) != mean.shape(2)) {
    throw ValueError(path + " has shape " + to_string(mean.shape()) + ": a mean image is (3, side, side)");
  }
  return mean;
}

// The mean of each channel. Chainer's example subtracts that of each pixel; this lets images go to the device as bytes.
std::vector<double> channel_means(const Array& mean) {
  const auto pixels = mean.to_vector<double>();
  const auto area = static_cast<std::ptrdiff_t>(pixels.size() / 3);
  std::vector<double> means;
  for (auto begin = pixels.begin(); begin != pixels.end(); begin += area) {
    means.push_back(std::accumulate(begin, begin + area, 0.0) / static_cast<double>(area));
  }
  return means;
}

// Images as bytes, scaled to the size of the mean image and cropped: a random place, or the middle.
datasets::TransformDataset cropped(const Images& images, int64_t side, int64_t crop_size, bool is_random) {
  return {images.dataset, [=](const datasets::Example& example, datasets::ExampleRandom& random) {
            const Array image = square(example[0], side);
            return datasets::Example{
                is_random ? transforms::RandomCrop{crop_size}(image, random) : transforms::CenterCrop{crop_size}(image),
                example[1]};
          }};
}

void train(const Arguments& args) {
  const auto device = get_device(args.device);

  std::printf("Device: %s\n", device.name().c_str());
  std::printf("Dtype: %s\n", name(get_dtype()));
  print_banner({{"# Minibatch-size", args.batchsize}, {"# epoch", args.epoch}});

  // Initialize the model to train
  const Arch& arch = kArchs.at(args.arch);
  AnyLink model = arch.make();
  Link& predictor = *model.self().children().front();
  if (!args.initmodel.empty()) {
    std::printf("Load model from %s\n", args.initmodel.c_str());
    serializers::load_npz(args.initmodel, predictor);
  }
  model.to(device);

  // Load the mean file and the lists of images
  const Array mean = load_mean(args.mean);
  const Images train_images = open_images(args.train, args.root, mean.shape(1));
  const Images val_images = open_images(args.val, args.root, mean.shape(1), train_images.classes);
  const auto train = cropped(train_images, mean.shape(1), arch.insize, true);
  const auto val = cropped(val_images, mean.shape(1), arch.insize, false);

  // These iterators load the images with workers, ahead of their use
  const auto train_iter = make_iterator(args.loader, train, args.batchsize);
  const auto val_iter = make_iterator(args.loader, val, args.val_batchsize, {.repeat = false, .shuffle = false});

  // These make numbers of a batch of images on the device: they subtract the mean, scale to [0, 1], and mirror images
  // for the training at random
  const std::vector<double> means = channel_means(mean);
  const auto train_converter = datasets::image_converter({.mean = means, .deviation = {255}, .random_flip = true});
  const auto val_converter = datasets::image_converter({.mean = means, .deviation = {255}});

  // Set up an optimizer
  optimizers::MomentumSGD optimizer(0.01, 0.9);
  optimizer.setup(model);
  const auto session = set_up_precision(args.precision, optimizer);

  // Set up a trainer
  updaters::StandardUpdater updater(
      train_iter, optimizer,
      {.converter = train_converter, .device = device, .prefetch = 2, .static_graph = args.static_graph});
  training::Trainer trainer(updater, {args.epoch, "epoch"}, args.out);

  const int64_t val_interval = args.test ? 1 : 100000, log_interval = args.test ? 1 : 1000;

  trainer.extend(extensions::Evaluator(val_iter, model, {.converter = val_converter, .device = device}),
                 {.trigger = {val_interval, "iteration"}});
  trainer.extend(extensions::snapshot(), {.trigger = {val_interval, "iteration"}});
  trainer.extend(extensions::snapshot_object(predictor, "model_iter_{.updater.iteration}"),
                 {.trigger = {val_interval, "iteration"}});
  // Be careful to pass the interval directly to LogReport
  // (it determines when to emit log rather than when to read observations)
  trainer.extend(extensions::LogReport({.trigger = {log_interval, "iteration"}}));
  trainer.extend(extensions::observe_lr(), {.trigger = {log_interval, "iteration"}});
  trainer.extend(extensions::PrintReport({"epoch", "iteration", "main/loss", "validation/main/loss", "main/accuracy",
                                          "validation/main/accuracy", "lr", "data_time", "compute_time"}),
                 {.trigger = {log_interval, "iteration"}});
  trainer.extend(extensions::ProgressBar({.update_interval = 10}));

  if (!args.resume.empty()) serializers::load_npz(args.resume, trainer);

  trainer.run();
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<Arguments>(argc, argv, "Learning convnet from ILSVRC2012 dataset", train);
}
