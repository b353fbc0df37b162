#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/kusari.h"

using namespace kusari;

namespace {

double norm(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v * v;
  return std::sqrt(sum);
}

std::vector<double> values(const Array& array) { return array.astype(Dtype::float64).to_vector<double>(); }

// |got - want| / |want|
double relative_error(const std::vector<double>& got, const std::vector<double>& want) {
  std::vector<double> difference(want.size());
  for (size_t i = 0; i < want.size(); ++i) difference[i] = got[i] - want[i];
  return norm(difference) / norm(want);
}

// Six sigmoid layers, 784-256-64-16-64-256-784, that learn to give their input: mean squared error over all pixels of a
// batch. Each layer makes gradients smaller, and the mean has made them small already.
class Autoencoder : public Chain {
 public:
  Autoencoder() : layers{*this, "layers"} {
    const int64_t sizes[] = {784, 256, 64, 16, 64, 256, 784};
    for (size_t i = 0; i < 6; ++i) layers.append(L::Linear(sizes[i], sizes[i + 1]));
  }
  Variable operator()(const Variable& x) {
    Variable h = x;
    for (size_t i = 0; i < layers.size(); ++i) h = F::sigmoid(layers[i](h));
    return F::mean_squared_error(h, x);
  }

  Child<ChainList<L::Linear>> layers;
};

Array digits() {
  const auto [train, test] = datasets::get_stroke_digits({.n_train = 100, .n_test = 0});
  std::vector<datasets::Example> examples;
  for (int64_t i = 0; i < train.size(); ++i) examples.push_back(train[i]);
  return datasets::concat_examples(examples)[0];
}

// The float32 gradients of a model with these weights, and the names of its weights.
struct Reference {
  std::vector<std::string> names;
  std::vector<std::vector<double>> gradients;
};

Reference reference(Autoencoder model, const Array& x) {
  model.to(Dtype::float32);
  model(x.astype(Dtype::float32)).backward();
  Reference result;
  for (const auto& [name, parameter] : model.namedparams()) {
    result.names.push_back(name);
    result.gradients.push_back(values(parameter->grad()));
  }
  return result;
}

struct Setup {
  Setup() : guard{&Config::dtype, Dtype::float16} {
    random::seed(0);
    x = digits().astype(Dtype::float16);
    model = Autoencoder();
    want = reference(model, x);
  }
  ScopedSetting<DtypePolicy> guard;
  Array x;
  Autoencoder model;
  Reference want;
};

}  // namespace

TEST_CASE("a product below half of float16's smallest number is zero, and exact when the loss is scaled") {
  const auto guard = using_config(&Config::dtype, Dtype::float16);
  // d loss / d W = x * 2^-13 = 2^-26; the smallest positive float16 is 2^-24.
  const Array x = full({1, 4}, std::ldexp(1.0, -13), Dtype::float16);
  L::Linear linear(4, 1, {.nobias = true});
  const auto gradient = [&](double scale) {
    linear.cleargrads();
    F::sum(linear(x) * std::ldexp(1.0, -13)).backward({.loss_scale = scale});
    return values(linear.W.grad());
  };
  CHECK(gradient(1) == std::vector<double>(4, 0.0));
  CHECK(gradient(0x1p15) == std::vector<double>(4, 0x1p-11));
}

TEST_CASE("gradients of a deep autoencoder vanish in float16, and are right to 1 % when the loss is scaled") {
  Setup s;
  const auto gradients = [&](double scale) {
    s.model.cleargrads();
    s.model(s.x).backward({.loss_scale = scale});
    std::vector<std::vector<double>> result;
    for (const auto& [name, parameter] : s.model.namedparams()) {
      REQUIRE(parameter->grad().dtype() == Dtype::float16);
      result.push_back(values(parameter->grad()));
      for (double& g : result.back()) g /= scale;
    }
    return result;
  };
  const auto without = gradients(1), with = gradients(0x1p15);
  for (size_t i = 0; i < s.want.names.size(); ++i) {
    CAPTURE(s.want.names[i]);
    REQUIRE(norm(s.want.gradients[i]) > 0);
    CHECK(relative_error(with[i], s.want.gradients[i]) < 0.01);
    if (s.want.names[i] == "/layers/0/W") CHECK(norm(without[i]) == 0);
    if (s.want.names[i] == "/layers/1/W") CHECK(relative_error(without[i], s.want.gradients[i]) > 0.1);
  }
}

TEST_CASE("bfloat16 keeps the gradients of the autoencoder without loss scaling, with fewer digits") {
  Setup s;
  Autoencoder model = s.model;
  model.to(Dtype::bfloat16);
  model(s.x.astype(Dtype::bfloat16)).backward();
  size_t i = 0;
  for (const auto& [name, parameter] : model.namedparams()) {
    CAPTURE(name);
    REQUIRE(parameter->grad().dtype() == Dtype::bfloat16);
    CHECK(relative_error(values(parameter->grad()), s.want.gradients[i++]) < 0.1);
  }
}

TEST_CASE("dynamic loss scaling finds a scale that saves the autoencoder's gradients") {
  Setup s;
  optimizers::SGD optimizer(0.0);  // the weights stay, while the scale grows
  optimizer.setup(s.model);
  optimizer.use_fp32_update();
  optimizer.loss_scaling();
  std::vector<std::vector<double>> seen;
  optimizer.add_hook([&](Parameter& parameter) { seen.push_back(values(parameter.grad())); }, "see");
  for (int step = 0; step < 20; ++step) {
    seen.clear();
    optimizer.update(s.model, s.x);
  }
  CHECK(optimizer.loss_scale() > 1000);
  REQUIRE(seen.size() == s.want.gradients.size());
  for (size_t i = 0; i < seen.size(); ++i) {
    CAPTURE(s.want.names[i]);
    CHECK(relative_error(seen[i], s.want.gradients[i]) < 0.01);
  }
}
