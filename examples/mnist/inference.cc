// Loads a network that train_mnist or train_mnist_custom_loop saved and reads digits with it.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/common/flags.h"
#include "kusari/examples/mnist/data.h"
#include "kusari/examples/mnist/mlp.h"

using namespace kusari;

namespace {

struct Arguments : Flags {
  std::string device = device_flag();
  std::string snapshot = text("-s,--snapshot", "result/snapshot_iter_12000",
                              "The path to a saved snapshot (NPZ), of a trainer or a model");
  int64_t unit = number("-u,--unit", 1000, "Number of units");
  int64_t count = number("-n,--count", 10, "Number of test images to read");
  std::string data = digits_flag();
};

void predict(const Arguments& args) {
  const auto device = get_device(args.device);
  std::printf("Device: %s\n# unit: %lld\n\n", device.name().c_str(), static_cast<long long>(args.unit));

  // Create the same model as was used for training
  Mlp model(args.unit, 10);

  // Load saved parameters from the snapshot of a Trainer, or from that of a Classifier
  const bool of_trainer = serializers::NpzReader(args.snapshot).contains("updater/iteration");
  serializers::load_npz(args.snapshot, model, {.path = of_trainer ? "updater/model:main/predictor" : "predictor"});
  model.to(device);

  // Prepare data
  const auto [train, test] = load_digits(args.data);
  const std::vector<datasets::Example> examples = [&images = test, &args] {
    std::vector<datasets::Example> first;
    for (int64_t i = 0; i < std::min(args.count, images.size()); ++i) first.push_back(images[i]);
    return first;
  }();
  const auto batch = datasets::concat_examples(examples, device);

  const auto test_mode = using_config(&Config::train, false);
  const auto no_graph = no_backprop_mode();
  const auto scores = model(batch[0]).to_vector<float>();  // (n, 10)
  const auto answers = batch[1].to_vector<int>();
  for (size_t i = 0; i < answers.size(); ++i) {
    const auto row = scores.begin() + static_cast<std::ptrdiff_t>(10 * i);
    std::printf("Prediction: %d  Answer: %d\n", static_cast<int>(std::max_element(row, row + 10) - row), answers[i]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<Arguments>(argc, argv, "Kusari example: reading digits with a trained network", predict);
}
