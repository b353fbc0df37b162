// The programs of docs/quantization.md, compiled and run. tests/docs/blocks_test.cc compares the texts.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/kusari.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari {
namespace {

class QuantizedDigits : public Chain {
 public:
  QuantizedDigits() : conv{*this, "conv", 1, 8, 3, {.pad = 1}}, bn{*this, "bn", 8}, fc{*this, "fc", 8, 10} {}
  Variable operator()(const Variable& x) const { return fc(F::mean(F::relu(bn(conv(x))), Axes{2, 3})); }

 private:
  Child<L::Convolution2D> conv;
  Child<L::BatchNormalization> bn;
  Child<L::Linear> fc;
};

TEST_CASE("docs/quantization.md") {
  random::seed(1);
  const QuantizedDigits model;
  std::vector<Array> batches;
  for (int i = 0; i < 3; ++i) batches.push_back(random::normal({4, 1, 6, 6}));
  const Array labels = array<int32_t>({1, 2, 3, 4});
  const testing::ScratchDirectory directory;
  const std::string path = directory / "int8.npz";

  quantization::Calibrator calibrator(model, {.method = quantization::percentile(99.99), .exclude = {"/fc"}});
  for (const Array& x : batches) calibrator.observe(x);
  auto int8 = calibrator.quantized();
  const Variable y = int8(batches[0]);
  CHECK(y.shape() == Shape{4, 10});

  for (const quantization::LayerError& layer : calibrator.errors()) {
    std::printf("%-12s %-16s %.4f\n", layer.name.c_str(), layer.function.c_str(), layer.error);
  }
  CHECK(calibrator.errors().size() == 1);
  CHECK(calibrator.errors()[0].error < 0.05);

  optimizers::MomentumSGD optimizer(0.01);
  optimizer.setup(int8);
  for (int step = 0; step < 10; ++step) {
    optimizer.update([&] { return F::softmax_cross_entropy(int8(batches[0]), labels); });
  }

  {
    auto following = calibrator.quantized({.range_decay = 0.99});
    optimizer.setup(following);
    optimizer.update([&] { return F::softmax_cross_entropy(following(batches[0]), labels); });
    following.freeze();
    CHECK(following.ranges[0].scale.item<float>() != int8.ranges[0].scale.item<float>());
  }

  serializers::save_npz(path, int8);
  quantization::Calibrator again(model, {.exclude = {"/fc"}});
  again.observe(batches[0]);
  auto loaded = again.quantized();
  serializers::load_npz(path, loaded);

  const auto testing = using_config(&Config::train, false);
  auto graph = static_graph(int8);
  const Variable replayed = graph(batches[0]);
  const auto found = replayed.array().to_vector<float>(), expected = loaded(batches[0]).array().to_vector<float>();
  for (size_t i = 0; i < found.size(); ++i) CHECK(std::abs(found[i] - expected[i]) < 0.02);

  const InferenceSession session(int8, {.shapes = {{batches[0].shape()}}});
  const Arrays scores = session.run({batches[0]});
  // The last layer's float32 products are packed in the session alone, and rounded otherwise.
  const auto served = scores[0].to_vector<float>();
  for (size_t i = 0; i < found.size(); ++i) CHECK(std::abs(served[i] - found[i]) < 1e-5);
  CHECK(session.summary().find("made 1 convolutions of integers") != std::string::npos);

  const Variable rounded = F::fake_quantize(y, full({}, 0.05, Dtype::float32), {.dtype = Dtype::int8});
  CHECK(std::abs(rounded.array().to_vector<float>()[0] - y.array().to_vector<float>()[0]) <= 0.0251);
}

}  // namespace
}  // namespace kusari
