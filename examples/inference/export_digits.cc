// Trains a small network on digits for a moment, and writes it as an ONNX file for classify:
//
//   export_digits --out digits
//   classify digits/digits.onnx --labels digits/labels.txt --resize 28 digits/*.png
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <kusari/framework/onnx/export_model.h>
#include <kusari/kusari.h>

#include "kusari/examples/common/flags.h"

using namespace kusari;
namespace fs = std::filesystem;

namespace {

struct Arguments : Flags {
  int64_t iterations = count("-i,--iterations", 200, "Number of training steps");
  int64_t batchsize = count("-b,--batchsize", 64, "Number of images in each mini-batch");
  std::string out = out_flag("digits");
  int64_t opset = number("--opset", 21, "ONNX's version of the operators", between(13, 22));
  int64_t seed = seed_flag();
};

// (N, 1, 28, 28), numbers 0 .. 1 -> (N, 10)
class DigitsNet : public Chain {
 public:
  DigitsNet() : c1{*this, "c1", 1, 8, 3}, c2{*this, "c2", 8, 16, 3}, l{*this, "l", kInfer, 10} {}
  Variable operator()(const Variable& x) const {
    const Variable h = F::max_pooling_2d(F::relu(c1(x)), 2);
    return l(F::max_pooling_2d(F::relu(c2(h)), 2));
  }

 private:
  Child<L::Convolution2D> c1, c2;
  Child<L::Linear> l;
};

void train(const Arguments& args) {
  const auto [train, test] =
      datasets::get_stroke_digits({.n_train = args.iterations * args.batchsize, .n_test = 1000, .ndim = 3});
  auto model = L::classifier(DigitsNet());
  optimizers::Adam optimizer({.alpha = 3e-3});
  optimizer.setup(model);
  iterators::SerialIterator iterator(train, args.batchsize);
  for (int64_t i = 0; i < args.iterations; ++i) {
    const auto batch = datasets::concat_examples(iterator.next());
    optimizer.update(model, batch[0], batch[1]);
  }

  const auto test_mode = using_config(&Config::train, false);
  const auto no_graph = no_backprop_mode();
  std::vector<datasets::Example> examples;
  for (int64_t i = 0; i < test.size(); ++i) examples.push_back(test[i]);
  const auto arrays = datasets::concat_examples(examples);
  const Variable scores = model.predictor(arrays[0]);
  std::printf("test accuracy: %.3f\n", F::accuracy(scores, arrays[1]).item<double>());

  // The file takes any number of images
  fs::create_directories(args.out);
  const auto path = [&](const std::string& name) { return (fs::path(args.out) / name).string(); };
  onnx::export_model(model.predictor, {Variable(arrays[0].slice(0, 0, 2), false)}, path("digits.onnx"),
                     {.input_names = {"image"},
                      .output_names = {"scores"},
                      .opset = static_cast<int>(args.opset),
                      .dynamic_batch = true});
  std::ofstream labels(path("labels.txt"));
  for (int digit = 0; digit < 10; ++digit) labels << "digit " << digit << '\n';

  // And an image of each digit that the network is sure of
  const auto guesses = F::argmax(scores, 1).to_vector<int>(), answers = arrays[1].to_vector<int>();
  const auto probabilities = F::max(F::softmax(scores), 1).to_vector<float>();
  std::set<int> written;
  for (size_t i = 0; i < answers.size(); ++i) {
    if (guesses[i] != answers[i] || probabilities[i] < 0.8F || !written.insert(answers[i]).second) continue;
    const Array image = arrays[0].at(static_cast<int64_t>(i));
    datasets::save_png(path("digit_" + std::to_string(answers[i]) + ".png"), image);
  }
  std::printf("%s: the network, and %zu images\n", args.out.c_str(), written.size());
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<Arguments>(argc, argv, "Kusari example: a network that reads digits, as an ONNX file", train);
}
