// Trains a fully-connected network on MNIST whose halves lie on two devices.
// Almost the same as train_mnist.cc, where more is explained; what differs is the network.
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
  int64_t batchsize = count("-b,--batchsize", 100, "Number of images in each mini-batch");
  int64_t epoch = count("-e,--epoch", 20, "Number of sweeps over the dataset to train");
  std::string device0 = text("-d,--device0,-g,--gpu0", "cuda:0", "First device: cpu, or cuda:N or N for a GPU");
  std::string device1 = text("-D,--device1,-G,--gpu1", "cuda:1", "Second device");
  std::string out = out_flag("result_model_parallel");
  std::string resume = resume_flag();
  int64_t unit = count("-u,--unit", 1000, "Number of units");
  int64_t seed = seed_flag();
  std::string data = digits_flag();
};

// Two networks behind each other, each cut in two: `0` is on the first device, `1` on the second. F::copy takes numbers
// from one to the other, and their gradients back.
class ParallelMlp : public Chain {
 public:
  ParallelMlp(int64_t units, int64_t classes, const Device& device0, const Device& device1)
      : device0_{device0},
        device1_{device1},
        first0{*this, "first0", units / 2, units},
        first1{*this, "first1", units / 2, units},
        second0{*this, "second0", units / 2, classes},
        second1{*this, "second1", units / 2, classes} {
    first0.to(device0);
    second0.to(device0);
    first1.to(device1);
    second1.to(device1);
  }

  Variable operator()(const Variable& x) const {
    // Let each half of the first network see the images
    const auto z0 = first0(x);
    const auto z1 = first1(F::copy(x, device1_));

    // Synchronize, and let each half of the second network see both results
    const auto h0 = F::relu(z0 + F::copy(z1, device0_));
    const auto h1 = F::relu(z1 + F::copy(z0, device1_));
    return second0(h0) + F::copy(second1(h1), device0_);
  }

 private:
  Device device0_, device1_;
  Child<Mlp> first0, first1, second0, second1;
};

void train(const Arguments& args) {
  const auto device0 = get_device(args.device0), device1 = get_device(args.device1);
  std::printf("Devices: %s, %s\n", device0.name().c_str(), device1.name().c_str());
  print_banner({{"# unit", args.unit}, {"# Minibatch-size", args.batchsize}, {"# epoch", args.epoch}});

  // Batches go to the first device. The model knows itself what is where.
  auto model = L::classifier(ParallelMlp(args.unit, 10, device0, device1));
  optimizers::Adam optimizer;
  optimizer.setup(model);

  auto [train, test] = load_digits(args.data);
  iterators::SerialIterator train_iter(train, args.batchsize);
  iterators::SerialIterator test_iter(test, args.batchsize, {.repeat = false, .shuffle = false});
  updaters::StandardUpdater updater(train_iter, optimizer, {.device = device0});
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
  return run_program<Arguments>(argc, argv, "Kusari example: MNIST with a network on two devices", train);
}
