// Kusari at a glance: which mushrooms are poisonous? A table of letters, a small network, a training with reports.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

#include <kusari/kusari.h>

#include "kusari/examples/common/flags.h"
#include "kusari/examples/glance/mushrooms.h"

using namespace kusari;

namespace {

struct Arguments : Flags {
  std::string data = text("--data", "", "mushrooms.csv of the UCI repository; without it, mushrooms are drawn");
  int64_t epoch = count("-e,--epoch", 50, "Number of sweeps over the dataset to train");
  std::string out = out_flag();
  int64_t seed = seed_flag();
};

// Network definition
Sequential mlp(int64_t n_units, int64_t n_out) {
  Sequential model = Sequential(L::Linear(kInfer, n_units), [](const Variable& x) { return F::relu(x); }).repeat(2);
  model.append(L::Linear(kInfer, n_out));
  return model;
}

void glance(const Arguments& args) {
  std::string file = args.data;
  if (file.empty()) {
    file = (std::filesystem::path(args.out) / "mushrooms.csv").string();
    std::filesystem::create_directories(args.out);
    write_mushrooms(file, 8000);
  }
  const auto mushrooms = read_mushrooms(file);
  const auto [train, test] = datasets::split_dataset_random(mushrooms, mushrooms.size() * 7 / 10);
  iterators::SerialIterator train_iter(train, 100);
  iterators::SerialIterator test_iter(test, 100, {.repeat = false, .shuffle = false});

  auto model = L::classifier(
      mlp(44, 1), {.lossfun = [](const Variable& y, const Variable& t) { return F::sigmoid_cross_entropy(y, t); },
                   .accfun = [](const Variable& y, const Variable& t) { return F::binary_accuracy(y, t); }});

  // Set up an optimizer, the updater that uses it, and a trainer
  optimizers::SGD optimizer;
  optimizer.setup(model);
  updaters::StandardUpdater updater(train_iter, optimizer);
  training::Trainer trainer(updater, {args.epoch, "epoch"}, args.out);

  // Evaluate the model with the test dataset for each epoch
  trainer.extend(extensions::Evaluator(test_iter, model));

  // Dump a computational graph from the variable `loss` at the first iteration.
  // "main" refers to the target link of the "main" optimizer.
  trainer.extend(extensions::dump_graph("main/loss"));
  trainer.extend(extensions::snapshot(), {.trigger = {20, "epoch"}});

  // Write a log of evaluation statistics for each epoch, and two plots
  extensions::LogReport log;
  trainer.extend(log);
  trainer.extend(extensions::PlotReport({"main/loss", "validation/main/loss"}, "epoch", {.filename = "loss.png"}));
  trainer.extend(
      extensions::PlotReport({"main/accuracy", "validation/main/accuracy"}, "epoch", {.filename = "accuracy.png"}));

  // Print selected entries of the log to stdout
  trainer.extend(extensions::PrintReport(
      {"epoch", "main/loss", "validation/main/loss", "main/accuracy", "validation/main/accuracy", "elapsed_time"}));

  // Run the training
  trainer.run();

  // Show what the network says of one mushroom
  const auto example = test[static_cast<int64_t>(random::bits() % static_cast<uint64_t>(test.size()))];
  const double predicted = model.predictor(example[0].expand_dims(0)).item<double>();
  std::printf("Predicted %s, Actual %s\n", predicted >= 0 ? "Poisonous" : "Edible",
              example[1].item<int>() == 1 ? "Poisonous" : "Edible");
  std::printf("Test accuracy: %.2f %%\n", 100 * log.last().at("validation/main/accuracy"));
}

}  // namespace

int main(int argc, char** argv) { return run_program<Arguments>(argc, argv, "Kusari example: at a glance", glance); }
