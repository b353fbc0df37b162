// Trains a network on MNIST whose layers are spread over two processes, in several such pairs that have different
// images: `mpirun -n 4 train_mnist_dual_parallel`. Process 2 i has the first layer and the loss of pair i, process 2 i
// + 1 the other layers. Gradients are averaged over the processes that have the same layers.
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include <kusari/kusari.h>

#include "kusari/examples/common/flags.h"
#include "kusari/examples/distributed/common.h"
#include "kusari/examples/distributed/two_stages.h"
#include "kusari/examples/mnist/data.h"

using namespace kusari;

namespace {

// The ranks of a run: those with the same layers (data), and those of one pair (model).
struct Axes {
  distributed::Communicator all, data, model;
};

template <class Model>
void train_stage(const two_stages::Arguments& args, const Axes& axes, const Device& device, Model model,
                 const std::optional<datasets::DatasetRef>& train, const std::optional<datasets::DatasetRef>& test) {
  model.to(device);
  auto optimizer = distributed::create_multi_node_optimizer(optimizers::Adam(), axes.data);
  optimizer.setup(model);

  // The first of each axis has the data, and gives the others their parts.
  const auto own_train = distributed::scatter_dataset(train, axes.data, {.shuffle = true, .seed = 0});
  const auto own_test = distributed::scatter_dataset(test, axes.data, {.force_equal_length = true});
  iterators::SerialIterator train_iter(own_train, args.batchsize, {.shuffle = false});
  iterators::SerialIterator test_iter(own_test, args.batchsize, {.repeat = false, .shuffle = false});
  updaters::StandardUpdater updater(train_iter, optimizer, {.device = device});
  training::Trainer trainer(updater, {args.epoch, "epoch"}, args.out);
  trainer.extend(
      distributed::create_multi_node_evaluator(extensions::Evaluator(test_iter, model, {.device = device}), axes.data));

  extensions::LogReport log;
  if (axes.all.is_root()) two_stages::extend_with_reports(trainer, log);
  trainer.run();
  if (axes.all.is_root()) std::printf("Test accuracy: %.2f %%\n", 100 * log.last().at("validation/main/accuracy"));
}

void train(const two_stages::Arguments& args) {
  const auto comm = distributed::create_communicator();
  if (comm.size() % 2 != 0) {
    throw ValueError("the network has two parts: start an even number of processes, with mpirun, instead of " +
                     std::to_string(comm.size()));
  }
  const int stage = comm.rank() % 2, pair = comm.rank() / 2;
  const Axes axes{comm, comm.split(stage, comm.rank()), comm.split(pair, comm.rank())};
  const auto device = get_device(device_of_rank(args.device, comm));
  if (comm.is_root()) two_stages::print_head(args, "data and model parallel", comm.size());

  std::optional<datasets::DatasetRef> train, test;
  if (pair == 0) {
    auto [images, test_images] = load_digits(args.data);
    if (stage == 0) {
      train = datasets::DatasetRef(std::move(images));
      test = datasets::DatasetRef(std::move(test_images));
    } else {
      train = datasets::DatasetRef(distributed::create_empty_dataset(images));
      test = datasets::DatasetRef(distributed::create_empty_dataset(test_images));
    }
  }
  if (stage == 0) {
    train_stage(args, axes, device, L::classifier(two_stages::first_stage(axes.model, args.unit)), train, test);
  } else {
    train_stage(args, axes, device, two_stages::second_stage(axes.model, args.unit, 10), train, test);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<two_stages::Arguments>(argc, argv, "Kusari example: MNIST, layers spread over pairs of processes",
                                            train);
}
