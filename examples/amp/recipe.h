#pragma once

// What the recipes share: flags, the digits, the network, and the accuracy at the end.

#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>

#include <kusari/kusari.h>
#include <CLI/CLI.hpp>

#include "kusari/examples/mnist/data.h"
#include "kusari/examples/mnist/mlp.h"

struct Task {
  kusari::Device device;
  int64_t epoch;
  kusari::datasets::TrainTest digits;
};

// Calls train(task) with what the command line says.
template <class Train>
int run_recipe(int argc, char** argv, const char* description, Train train) {
  CLI::App parser(description);
  std::string device = "cpu", data = "auto";
  int64_t epoch = 2;
  uint64_t seed = 0;
  parser.add_option("-d,--device,-g,--gpu", device, "cpu, or cuda:N or N for a GPU")->capture_default_str();
  parser.add_option("-e,--epoch", epoch, "Number of sweeps over the digits")->capture_default_str();
  parser.add_option("--seed", seed, "Seed of the random numbers")->capture_default_str();
  parser.add_option("--data", data, "mnist, stroke-digits, or auto: MNIST where there is a way to it")
      ->check(CLI::IsMember({"auto", "mnist", "stroke-digits"}))
      ->capture_default_str();
  try {
    parser.parse(argc, argv);
    kusari::random::seed(seed);
    kusari::global_config().dtype = kusari::Dtype::float32;  // KUSARI_DTYPE would be one more recipe
    train(Task{kusari::get_device(device), epoch, load_digits(data)});
    return 0;
  } catch (const CLI::ParseError& error) {
    return parser.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
  }
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
