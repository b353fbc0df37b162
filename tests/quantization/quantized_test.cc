#include "kusari/framework/quantization/quantized.h"

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "kusari/framework/amp/autocast.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/functions/loss/mean_squared_error.h"
#include "kusari/framework/functions/util/forget.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/serializers/dictionary.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/static_graph/static_graph.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/tests/quantization/models.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari {
namespace {

using namespace testing;
using quantization::Calibrator;
using quantization::Quantized;
using quantization::QuantizedOptions;

template <class M>
Quantized<M> quantized(const M& model, const Array& x, const QuantizedOptions& options = {}) {
  Calibrator calibrator(model);
  calibrator.observe(x);
  return calibrator.quantized(options);
}

Array targets(int64_t n = 8) { return uniform({n, 4}, -1, 1, 9).astype(Dtype::float32); }

/// The losses of some steps towards the targets.
template <class Model>
std::vector<double> train(Model& model, const Array& x, int steps, double lr = 0.02) {
  optimizers::MomentumSGD optimizer(lr);
  optimizer.setup(model);
  std::vector<double> losses;
  for (int i = 0; i < steps; ++i) {
    optimizer.update([&] {
      const Variable loss = F::mean_squared_error(model(x), targets(x.shape()[0]));
      losses.push_back(loss.item<double>());
      return loss;
    });
  }
  return losses;
}

double loss_of(const Quantized<Cnn>& model, const Array& x) {
  const auto testing = using_config(&Config::train, false);
  return F::mean_squared_error(model(x), targets(x.shape()[0])).item<double>();
}

TEST_CASE("Quantized: gradients go straight through to weights, biases and inputs") {
  auto int8 = quantized(Cnn(), images());
  const Variable x(images());
  Cnn model;
  int8.cleargrads();
  model.cleargrads();
  F::mean_squared_error(int8(x), targets()).backward();
  const Variable same(images());
  F::mean_squared_error(model(same), targets()).backward();
  CHECK(relative_error(Variable(x.grad()), Variable(same.grad())) < 0.2);
  const auto mine = int8.model.namedparams(), known = model.namedparams();
  REQUIRE(mine.size() == 8);
  for (size_t i = 0; i < mine.size(); ++i) {
    CAPTURE(known[i].first);
    CHECK(relative_error(Variable(mine[i].second->grad()), Variable(known[i].second->grad())) < 0.2);
  }
}

TEST_CASE("Quantized: training makes a badly quantized model good again") {
  const Array x = images();
  Cnn model;
  const std::vector<double> in_float = train(model, x, 60);
  REQUIRE(in_float.back() < 0.2 * in_float.front());
  // Ranges of images of a tenth of the contrast cut nearly everything off.
  auto fixed = quantized(model, x * 0.1);
  const double before = loss_of(fixed, x);
  CHECK(before > 3 * in_float.back());
  train(fixed, x, 60);
  CHECK(loss_of(fixed, x) < 0.5 * before);
  const double scale = fixed.ranges[0].scale.item<double>();
  CHECK(scale < 0.11 / 127);

  auto moving = quantized(model, x * 0.1, {.range_decay = 0.5});
  CHECK(loss_of(moving, x) == before);
  CHECK(loss_of(moving, x) == before);  // what does not train moves nothing
  train(moving, x, 20);
  CHECK(moving.ranges[0].scale.item<double>() == doctest::Approx(1.0 / 127).epsilon(0.02));
  CHECK(loss_of(moving, x) < 0.3 * before);
  moving.freeze();
  const double frozen = moving.ranges[0].scale.item<double>();
  train(moving, x * 5.0, 1, 1e-6);
  CHECK(moving.ranges[0].scale.item<double>() == frozen);
}

TEST_CASE("Quantized: a range moves by its decay, and uint8 gets a zero point when numbers become negative") {
  const quantization::ActivationRange range({0, 2}, false, test_device());
  range.follow(on_test_device(array<float>({-4, 3})), 0.75);
  CHECK(range.low.item<double>() == -1);
  CHECK(range.high.item<double>() == 2.25);
  CHECK(range.scale.item<double>() == doctest::Approx(3.25 / 255));
  CHECK(range.zero_point.item<int>() == 78);  // 255 / 3.25 = 78.46
  range.follow(zeros({0, 3}, Dtype::float32, test_device()), 0.75);
  CHECK(range.low.item<double>() == -1);
}

TEST_CASE("Quantized: a NaN or an infinity leaves the ends of a range that it would spoil") {
  const quantization::ActivationRange range({0, 2}, false, test_device());
  range.follow(on_test_device(array<float>({-4, std::nanf(""), 3})), 0.75);
  CHECK(range.low.item<double>() == 0);
  CHECK(range.high.item<double>() == 2);
  range.follow(on_test_device(array<float>({-std::numeric_limits<float>::infinity(), 6})), 0.75);
  CHECK(range.low.item<double>() == 0);
  CHECK(range.high.item<double>() == 3);
  CHECK(range.scale.item<double>() == doctest::Approx(3.0 / 255));
}

TEST_CASE("Quantized: copies are independent, and a moved one goes on") {
  const Array x = images();
  auto first = quantized(Cnn(), x, {.range_decay = 0.5});
  const std::vector<double> y = numbers(first(x));
  auto second = first;
  train(second, x * 3.0, 3);
  const auto testing = using_config(&Config::train, false);
  CHECK(numbers(first(x)) == y);
  CHECK(numbers(second(x)) != y);
  CHECK(second.device() == test_device());
  auto moved = std::move(first);
  CHECK(numbers(moved(x)) == y);
  CHECK_THROWS_AS(first(x), StateError);
}

TEST_CASE("Quantized: a snapshot has the ranges") {
  const ScratchDirectory directory;
  const Array x = images();
  auto saved = quantized(Cnn(), x, {.range_decay = 0.9});
  train(saved, x * 1.5, 3);
  saved.freeze();
  serializers::save_npz(directory / "int8.npz", saved);
  serializers::DictionarySerializer serializer;
  saved.serialize(serializer);
  std::set<std::string> names;
  for (const auto& [name, entry] : serializer.dictionary()) names.insert(name);
  for (const char* name : {"model/conv/W", "ranges/0/scale", "ranges/3/zero_point", "is_frozen"}) {
    CAPTURE(name);
    CHECK(names.contains(name));
  }
  auto loaded = quantized(Cnn(), x * 0.2, {.range_decay = 0.9});
  CHECK(numbers(loaded(x)) != numbers(saved(x)));
  serializers::load_npz(directory / "int8.npz", loaded);
  CHECK(loaded.is_frozen);
  CHECK(numbers(loaded(x)) == numbers(saved(x)));
  // A model in float is one of its children.
  Cnn model;
  serializers::save_npz(directory / "float.npz", model);
  serializers::load_npz(directory / "float.npz", loaded.model);
  CHECK(numbers(loaded.model(x)) == numbers(model(x)));
}

// A static graph of a network that only infers computes with integers, and packs its products.
TEST_CASE("Quantized: a static graph trains to the same bits, and infers the same numbers") {
  const Array x = images();
  for (const bool moves : {false, true}) {
    CAPTURE(moves);
    const auto options = moves ? QuantizedOptions{.range_decay = 0.5} : QuantizedOptions{};
    auto plain = quantized(Cnn(), x * 0.5, options);
    auto graph = static_graph(plain);
    auto other = plain;
    {
      const auto testing = using_config(&Config::train, false);
      const auto no_graph = no_backprop_mode();
      for (int i = 0; i < 3; ++i) {
        const auto found = numbers(graph(x)), expected = numbers(other(x));
        for (size_t k = 0; k < found.size(); ++k) CHECK(found[k] == doctest::Approx(expected[k]).epsilon(1e-4));
      }
    }
    CHECK(train(graph, x, 6) == train(other, x, 6));
    CHECK(plain.ranges[1].scale.item<float>() == other.ranges[1].scale.item<float>());
    CHECK(plain.ranges[1].zero_point.item<int>() == other.ranges[1].zero_point.item<int>());
  }
}

TEST_CASE("Quantized: inside of autocast the products have 16 bits") {
  const Array x = images();
  const auto int8 = quantized(Cnn(), x);
  const Variable y = int8(x);
  const amp::Autocast autocast({.dtype = Dtype::bfloat16});
  const Variable low = int8(x);
  CHECK(low.dtype() == Dtype::bfloat16);
  CHECK(relative_error(low, y) < 0.05);
}

/// Its middle is computed again in backward.
class Forgetful : public Chain {
 private:
  Seeded seeded_;

 public:
  explicit Forgetful(bool forgets)
      : l1{*this, "l1", 6, 8}, l2{*this, "l2", 8, 8}, l3{*this, "l3", 8, 4}, forgets_{forgets} {
    to(test_device());
  }
  Variable operator()(const Variable& x) const {
    const Variable h = l1(x);
    const auto middle = [this](const Variable& v) { return F::relu(l2(F::relu(v))); };
    return l3(forgets_ ? F::forget(middle, h) : middle(h));
  }

 private:
  Child<L::Linear> l1, l2, l3;
  bool forgets_;
};

TEST_CASE("Quantized: what F::forget computes again is quantized as before, and moves no range twice") {
  const Array x = uniform({8, 6}, -1, 1).astype(Dtype::float32);
  auto plain = quantized(Forgetful(false), x * 0.5, {.range_decay = 0.5});
  auto forgetful = quantized(Forgetful(true), x * 0.5, {.range_decay = 0.5});
  CHECK(train(forgetful, x, 4) == train(plain, x, 4));
  CHECK(forgetful.ranges[1].scale.item<float>() == plain.ranges[1].scale.item<float>());
}

/// Calls what it is told to.
class Switching : public Chain {
 public:
  Switching() : l1{*this, "l1", 3, 3}, l2{*this, "l2", 3, 3} { to(test_device()); }
  Variable operator()(const Variable& x) const {
    if (way == 1) return l1(x);
    if (way == 2) return l2(l1(F::matmul(x, x)));
    return way == 3 ? l2(l2(l1(x))) : l2(l1(x));
  }
  Child<L::Linear> l1, l2;
  int way = 0;
};

TEST_CASE("Quantized: other calls than those that were observed are errors") {
  const Array x = ones({3, 3}, Dtype::float32, test_device());
  Switching model;
  Calibrator calibrator(model);
  calibrator.observe(x);
  auto int8 = calibrator.quantized();
  const auto fails = [&](int way, const char* text) {
    int8.model.way = way;
    CHECK_THROWS_WITH_AS(int8(x), text, StateError);
    int8.model.way = 0;
    CHECK_NOTHROW(int8(x));
  };
  fails(1,
        "quantization::Quantized: the model made 1 calls, but 2 when it was first observed: call 2, linear of \"/l2\", "
        "is "
        "missing");
  fails(2,
        "quantization::Quantized: call 1 of the model is matmul, but it was linear of \"/l1\" when it was first "
        "observed: "
        "a quantized model makes the same calls each time");
  fails(
      3,
      "quantization::Quantized: call 3 of the model is linear, but it made only 2 calls when it was first observed: a "
      "quantized model makes the same calls each time");
  CHECK_THROWS_WITH_AS(calibrator.quantized({.range_decay = 1.5}),
                       "quantization::Quantized: range_decay is 1.5: it must be in [0, 1]", ValueError);
}

}  // namespace
}  // namespace kusari
