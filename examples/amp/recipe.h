#pragma once

// What the recipes share: flags, the digits, the network, and the accuracy at the end.

#include <cstdint>
#include <cstdio>
#include <string>

#include <kusari/kusari.h>

#include "kusari/examples/common/flags.h"
#include "kusari/examples/mnist/data.h"
#include "kusari/examples/mnist/mlp.h"

struct Task {
  kusari::Device device;
  int64_t epoch;
  kusari::datasets::TrainTest digits;
};

struct TaskArguments : Flags {
  std::string device = device_flag();
  int64_t epoch = number("-e,--epoch", 2, "Number of sweeps over the digits");
  uint64_t seed = value<uint64_t>("--seed", 0, "Seed of the random numbers");
  std::string data = digits_flag();
};

// Calls train(task) with what the command line says.
template <class Train>
int run_recipe(int argc, char** argv, const char* description, Train train) {
  return run_program<TaskArguments>(argc, argv, description, [&](const TaskArguments& args) {
    kusari::random::seed(args.seed);
    kusari::global_config().dtype = kusari::Dtype::float32;  // KUSARI_DTYPE would be one more recipe
    train(Task{kusari::get_device(args.device), args.epoch, load_digits(args.data)});
  });
}

// Calls step(x, t) with every batch.
template <class Step>
void for_each_batch(const Task& task, Step step) {
  kusari::iterators::SerialIterator iterator(task.digits.train, 100);
  while (iterator.epoch() < task.epoch) {
    const auto batch = kusari::datasets::concat_examples(iterator.next(), task.device);
    step(batch[0], batch[1]);
  }
}

// The share of test digits that a classifier gets right.
template <class Model>
void print_accuracy(const Task& task, const Model& model) {
  const auto test_mode = kusari::using_config(&kusari::Config::train, false);
  const auto no_graph = kusari::no_backprop_mode();
  double right = 0;
  for (const auto& examples :
       kusari::iterators::SerialIterator(task.digits.test, 100, {.repeat = false, .shuffle = false})) {
    const auto batch = kusari::datasets::concat_examples(examples, task.device);
    model(batch[0], batch[1]);
    right += model.accuracy.template item<double>() * static_cast<double>(batch[1].size());
  }
  std::printf("Test accuracy: %.2f %%\n", 100 * right / static_cast<double>(task.digits.test.size()));
}
