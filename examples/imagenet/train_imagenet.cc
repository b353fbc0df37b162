// Trains a large convolutional network on ImageNet or on any other folder of images.
//
// Images come as a list file with lines "path label", as Caffe's ImageDataLayer and Chainer's example have it, as a
// folder with a folder for each class, or as a tar archive of such a folder. They are scaled and cropped to the size of
// the mean image unless they have it already. Compute that first:
//
//   compute_mean train.txt
//   train_imagenet train.txt val.txt --arch resnet50
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/common/banner.h"
#include "kusari/examples/imagenet/archs.h"
#include "kusari/examples/imagenet/flags.h"
#include "kusari/examples/imagenet/images.h"
#include "kusari/examples/imagenet/loader.h"
#include "kusari/examples/imagenet/mean.h"
#include "kusari/examples/precision.h"

using namespace kusari;

namespace {

struct Arguments : ImagenetFlags {
  std::string device = device_flag();
};

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
