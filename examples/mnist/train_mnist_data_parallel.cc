// Trains a fully-connected network on MNIST with two replicas of it that compute halves of each batch.
// Almost the same as train_mnist.cc, where more is explained; what differs is the updater.
#include <cstdint>
#include <cstdio>
#include <string>

#include <kusari/kusari.h>

#include "kusari/examples/common/banner.h"
#include "kusari/examples/common/flags.h"
#include "kusari/examples/mnist/data.h"
#include "kusari/examples/mnist/mlp.h"

using namespace kusari;

namespace {

struct Arguments : Flags {
  int64_t batchsize = count("-b,--batchsize", 400, "Number of images in each mini-batch");
  int64_t epoch = count("-e,--epoch", 20, "Number of sweeps over the dataset to train");
  std::string device0 = text("-d,--device0,-g,--gpu0", "cuda:0", "First device: cpu, or cuda:N or N for a GPU");
  std::string device1 = text("-D,--device1,-G,--gpu1", "cuda:1", "Second device");
  std::string out = out_flag("result_data_parallel");
  std::string resume = resume_flag();
  int64_t unit = count("-u,--unit", 1000, "Number of units");
  bool sum = flag("--sum", "Sum the gradients of the halves, as Chainer does, instead of averaging them");
  int64_t seed = seed_flag();
  std::string data = digits_flag();
};

void train(const Arguments& args) {
  const auto device0 = get_device(args.device0);
  const auto device1 = get_device(args.device1);

  std::printf("Devices: %s, %s\n", device0.name().c_str(), device1.name().c_str());
  print_banner({{"# unit", args.unit}, {"# Minibatch-size", args.batchsize}, {"# epoch", args.epoch}});

  auto model = L::classifier(Mlp(args.unit, 10));
  optimizers::Adam optimizer;
  optimizer.setup(model);

  auto [train, test] = load_digits(args.data);
  iterators::SerialIterator train_iter(train, args.batchsize);
  iterators::SerialIterator test_iter(test, args.batchsize, {.repeat = false, .shuffle = false});

  // ParallelUpdater lets replicas of the model compute gradients on several devices at once. The replica "main" is the
  // model itself, whose parameters the optimizer updates; the other ones are copies, whose names are free.
  updaters::ParallelUpdater updater(
      train_iter, optimizer,
      {.model = model, .devices = {{"main", device0}, {"second", device1}}, .prefetch = 1, .average = !args.sum});
  training::Trainer trainer(updater, {args.epoch, "epoch"}, args.out);

  trainer.extend(extensions::Evaluator(test_iter, model, {.device = device0}));
  trainer.extend(extensions::snapshot(), {.trigger = {args.epoch, "epoch"}});
  extensions::LogReport log;
  trainer.extend(log);
  trainer.extend(extensions::PrintReport(
      {"epoch", "main/loss", "validation/main/loss", "main/accuracy", "validation/main/accuracy", "elapsed_time"}));
  trainer.extend(extensions::ProgressBar());

  if (!args.resume.empty()) serializers::load_npz(args.resume, trainer);
  trainer.run();

  std::printf("Test accuracy: %.2f %%\n", 100 * log.last().at("validation/main/accuracy"));
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<Arguments>(argc, argv, "Kusari example: MNIST on two devices", train);
}
