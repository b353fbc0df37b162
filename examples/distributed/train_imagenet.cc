// Trains a large convolutional network on ImageNet or on any other folder of images in several processes:
//
//   mpirun -n 4 train_imagenet train.txt val.txt --arch resnet50
//
// Flags, batches, log and files are those of examples/imagenet/train_imagenet, which tells about images; the batch size
// is that of all processes together. Each process mirrors its images at random by itself.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/common/banner.h"
#include "kusari/examples/distributed/common.h"
#include "kusari/examples/imagenet/archs.h"
#include "kusari/examples/imagenet/flags.h"
#include "kusari/examples/imagenet/images.h"
#include "kusari/examples/imagenet/loader.h"
#include "kusari/examples/imagenet/mean.h"
#include "kusari/examples/precision.h"

using namespace kusari;

namespace {

struct Arguments : ImagenetFlags {
  std::string device = device_of_rank_flag(*this);
  std::string communicator = communicator_flag(*this);
  bool shard_optimizer = shard_optimizer_flag(*this);
};

void train(const Arguments& args) {
  const auto comm = distributed::create_communicator(args.communicator);  // before what draws random numbers
  const auto device = get_device(device_of_rank(args.device, comm));

  if (comm.is_root()) {
    std::printf("Device: %s\n", device.name().c_str());
    std::printf("Dtype: %s\n", name(get_dtype()));
    print_banner(
        {{"# processes", int64_t{comm.size()}}, {"# Minibatch-size", args.batchsize}, {"# epoch", args.epoch}});
  }

  // Initialize the model to train
  const Arch& arch = kArchs.at(args.arch);
  AnyLink model = arch.make();
  Link& predictor = *model.self().children().front();
  if (!args.initmodel.empty()) {
    if (comm.is_root()) std::printf("Load model from %s\n", args.initmodel.c_str());
    serializers::load_npz(args.initmodel, predictor);
  }
  model.to(device);

  // Load the mean file and the lists of images
  const Array mean = load_mean(args.mean);
  const Images train_images = open_images(args.train, args.root, mean.shape(1));
  const Images val_images = open_images(args.val, args.root, mean.shape(1), train_images.classes);
  const auto train = cropped(train_images, mean.shape(1), arch.insize, true);
  const auto val = cropped(val_images, mean.shape(1), arch.insize, false);

  // Each process loads its part of each batch with workers, ahead of its use
  const auto train_iter = make_iterator(args.loader, train, args.batchsize, {.shard = comm.shard()});
  const auto val_iter =
      make_iterator(args.loader, val, args.val_batchsize, {.repeat = false, .shuffle = false, .shard = comm.shard()});

  const std::vector<double> means = channel_means(mean);
  const auto train_converter = datasets::image_converter({.mean = means, .deviation = {255}, .random_flip = true});
  const auto val_converter = datasets::image_converter({.mean = means, .deviation = {255}});

  // Set up an optimizer that takes its steps together with those of the other processes
  auto optimizer = distributed::create_multi_node_optimizer(optimizers::MomentumSGD(0.01, 0.9), comm,
                                                            {.shard_optimizer = args.shard_optimizer});
  optimizer.setup(model);
  const auto session = set_up_precision(args.precision, optimizer);

  // Set up a trainer
  updaters::StandardUpdater updater(
      train_iter, optimizer,
      {.converter = train_converter, .device = device, .prefetch = 2, .static_graph = args.static_graph});
  training::Trainer trainer(updater, {args.epoch, "epoch"}, args.out);

  const int64_t val_interval = args.test ? 1 : 100000, log_interval = args.test ? 1 : 1000;

  trainer.extend(distributed::create_multi_node_evaluator(
                     extensions::Evaluator(val_iter, model, {.converter = val_converter, .device = device}), comm),
                 {.trigger = {val_interval, "iteration"}});
  trainer.extend(mean_over_ranks(comm, args.batchsize, {"main/loss", "main/accuracy"}), {.name = "mean_over_ranks"});
  trainer.extend(distributed::multi_node_snapshot(comm, extensions::snapshot()),
                 {.trigger = {val_interval, "iteration"}});
  trainer.extend(extensions::observe_lr(), {.trigger = {log_interval, "iteration"}});

  // What prints or logs belongs to the root alone
  if (comm.is_root()) {
    trainer.extend(extensions::snapshot_object(predictor, "model_iter_{.updater.iteration}"),
                   {.trigger = {val_interval, "iteration"}});
    trainer.extend(extensions::LogReport({.trigger = {log_interval, "iteration"}}));
    trainer.extend(extensions::PrintReport({"epoch", "iteration", "main/loss", "validation/main/loss", "main/accuracy",
                                            "validation/main/accuracy", "lr", "data_time", "compute_time"}),
                   {.trigger = {log_interval, "iteration"}});
    trainer.extend(extensions::ProgressBar({.update_interval = 10}));
  }

  if (!args.resume.empty()) serializers::load_npz(args.resume, trainer);

  trainer.run();
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<Arguments>(argc, argv, "Learning convnet from ILSVRC2012 dataset in several processes", train);
}
