// Loads a network that train_mnist or train_mnist_custom_loop saved and reads digits with it.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <kusari/kusari.h>
#include <CLI/CLI.hpp>

#include "kusari/examples/mnist/data.h"
#include "kusari/examples/mnist/mlp.h"

using namespace kusari;

namespace {

struct Arguments {
  std::string device = "cpu";
  std::string snapshot = "result/snapshot_iter_12000";
  int64_t unit = 1000;
  int64_t count = 10;
  std::string data = "auto";
};

Arguments parse(CLI::App& parser, int argc, char** argv) {
  Arguments args;
  parser.add_option("-d,--device,-g,--gpu", args.device, "cpu, or cuda:N or N for a GPU")->capture_default_str();
  parser.add_option("-s,--snapshot", args.snapshot, "The path to a saved snapshot (NPZ), of a trainer or a model")
      ->capture_default_str();
  parser.add_option("-u,--unit", args.unit, "Number of units")->capture_default_str();
  parser.add_option("-n,--count", args.count, "Number of test images to read")->capture_default_str();
  parser.add_option("--data", args.data, "mnist, stroke-digits, or auto: MNIST where there is a way to it")
      ->check(CLI::IsMember({"auto", "mnist", "stroke-digits"}))
      ->capture_default_str();
  parser.parse(argc, argv);
  return args;
}

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
  CLI::App parser("Kusari example: reading digits with a trained network");
  try {
    predict(parse(parser, argc, argv));
    return 0;
  } catch (const CLI::ParseError& error) {
    return parser.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "inference: %s\n", error.what());
    return 1;
  }
}
