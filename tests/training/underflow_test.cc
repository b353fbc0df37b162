#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/datasets/convert.h"
#include "kusari/framework/datasets/stroke_digits.h"
#include "kusari/framework/functions/activation/sigmoid.h"
#include "kusari/framework/functions/loss/mean_squared_error.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/links/chain_list.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/optimizers/sgd.h"

// Gradients that are too small for float16, and what loss scaling makes of them.
namespace kusari::testing {
namespace {

namespace F = functions;

/// Six sigmoid layers: the mean over all pixels makes gradients small, and each sigmoid makes them smaller.
class Autoencoder : public Chain {
 public:
  Autoencoder() : layers{*this, "layers"} {
    const int64_t sizes[] = {784, 128, 32, 8, 32, 128, 784};
    for (size_t i = 0; i < 6; ++i) layers.append(L::Linear(sizes[i], sizes[i + 1]));
  }
  Variable operator()(const Variable& x) {
    Variable h = x;
    for (size_t i = 0; i < layers.size(); ++i) h = F::sigmoid(layers[i](h));
    return F::mean_squared_error(h, x);
  }
  Child<ChainList<L::Linear>> layers;
};

Array digits(Dtype dtype) {
  const auto [train, test] = datasets::get_stroke_digits({.n_train = 50, .n_test = 1});
  std::vector<datasets::Example> batch;
  for (int64_t i = 0; i < train.size(); ++i) batch.push_back(train[i]);
  const auto guard = using_config(&Config::dtype, dtype);
  return datasets::concat_examples(batch)[0].astype(Dtype::float16).astype(dtype);
}

/// The first layer's gradient without the loss scale, and the share of its numbers that are 0.
struct Gradient {
  std::vector<double> values;
  double zeros = 0;
};
Gradient first_gradient(Dtype dtype, double loss_scale) {
  random::seed(5);
  Autoencoder model;
  model.to(Dtype::float16);  // the same numbers for all
  model.to(dtype);
  optimizers::SGD optimizer;
  optimizer.setup(model);
  optimizer.use_fp32_update();
  if (loss_scale != 1) optimizer.set_loss_scale(loss_scale);
  model.cleargrads();
  optimizer.backward(model(Variable(digits(dtype), false)));
  Gradient gradient{model.layers[0].W.grad().to_vector<double>()};
  for (double& value : gradient.values) {
    value /= loss_scale;
    gradient.zeros += value == 0;
  }
  gradient.zeros /= static_cast<double>(gradient.values.size());
  return gradient;
}

double relative_error(const Gradient& got, const Gradient& expected) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < got.values.size(); ++i) {
    difference += (got.values[i] - expected.values[i]) * (got.values[i] - expected.values[i]);
    size += expected.values[i] * expected.values[i];
  }
  return std::sqrt(difference / size);
}

TEST_CASE("a real gradient that float16 loses is there with loss scaling") {
  const Gradient expected = first_gradient(Dtype::float32, 1), lost = first_gradient(Dtype::float16, 1),
                 scaled = first_gradient(Dtype::float16, 32768);
  CHECK(expected.zeros < 0.5);  // of black pixels
  CHECK(lost.zeros > 0.99);
  CHECK(relative_error(lost, expected) > 0.9);
  CHECK(scaled.zeros <= expected.zeros + 0.05);
  CHECK(relative_error(scaled, expected) < 0.01);
  // bfloat16 has the range of float32 and needs no scaling, but has fewer digits.
  const Gradient brain = first_gradient(Dtype::bfloat16, 1);
  CHECK(brain.zeros <= expected.zeros + 0.05);
  CHECK(relative_error(brain, expected) < 0.1);
}

TEST_CASE("a gradient below float16's range is exact with loss scaling") {
  for (const double scale : {1.0, 1024.0}) {
    const Parameter w(ones({1000}, Dtype::float16));
    const Variable loss = F::sum(w * 0x1p-14) * 0x1p-14;  // its gradient is 2^-28; the smallest float16 is 2^-24
    loss.backward({.loss_scale = scale});
    for (const double value : w.grad().to_vector<double>()) CHECK(value / scale == (scale == 1 ? 0 : 0x1p-28));
  }
}

}  // namespace
}  // namespace kusari::testing
