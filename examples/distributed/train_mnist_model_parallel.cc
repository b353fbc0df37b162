// Trains a network on MNIST whose layers are spread over two processes: `mpirun -n 2 train_mnist_model_parallel`.
// Process 0 has the images, the first layer and the loss; process 1 the other layers, which get what process 0 sends
// and send back what they give. Backward takes the same way back.
#include <cstdint>
#include <cstdio>
#include <string>

#include <kusari/kusari.h>

#include "kusari/examples/common/flags.h"
#include "kusari/examples/distributed/common.h"
#include "kusari/examples/distributed/two_stages.h"
#include "kusari/examples/mnist/data.h"

using namespace kusari;

namespace {

template <class Model>
void train_stage(const two_stages::Arguments& args, const distributed::Communicator& comm, const Device& device,
                 Model model, const datasets::Dataset& train, const datasets::Dataset& test) {
  model.to(device);
  optimizers::Adam optimizer;
  optimizer.setup(model);

  iterators::SerialIterator train_iter(train, args.batchsize, {.shuffle = false});
  iterators::SerialIterator test_iter(test, args.batchsize, {.repeat = false, .shuffle = false});
  updaters::StandardUpdater updater(train_iter, optimizer, {.device = device});
  training::Trainer trainer(updater, {args.epoch, "epoch"}, args.out);

  // Both processes evaluate: the images go through both.
  trainer.extend(extensions::Evaluator(test_iter, model, {.device = device}));

  extensions::LogReport log;
  if (comm.is_root()) two_stages::extend_with_reports(trainer, log);
  trainer.run();
  if (comm.is_root()) std::printf("Test accuracy: %.2f %%\n", 100 * log.last().at("validation/main/accuracy"));
}

void train(const two_stages::Arguments& args) {
  const auto comm = distributed::create_communicator();
  if (comm.size() != 2) {
    throw ValueError("the network has two parts: start two processes, with mpirun -n 2, instead of " +
                     std::to_string(comm.size()));
  }
  const auto device = get_device(device_of_rank(args.device, comm));
  if (comm.is_root()) two_stages::print_head(args, "model parallel", comm.size());

  const auto [train, test] = load_digits(args.data);
  if (comm.is_root()) {
    train_stage(args, comm, device, L::classifier(two_stages::first_stage(comm, args.unit)), train, test);
  } else {
    train_stage(args, comm, device, two_stages::second_stage(comm, args.unit, 10),
                distributed::create_empty_dataset(train), distributed::create_empty_dataset(test));
  }
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<two_stages::Arguments>(argc, argv, "Kusari example: MNIST, layers spread over two processes",
                                            train);
}
