#include <bit>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/philox.h"
#include "kusari/framework/core/random.h"
#include "kusari/kusari.h"
#include "kusari/tests/test_device.h"

// Random networks are trained twice from the same start: define-by-run, and as a static graph.
namespace kusari {
namespace {

using testing::test_device;

constexpr int64_t kBatch = 6, kUnits = 16;
constexpr int kIterations = 5;

/// What a network does to its rows of kUnits numbers, chosen by a seed.
class RandomNet : public Chain {
 public:
  explicit RandomNet(uint64_t seed)
      : l0{*this, "l0", kUnits, kUnits},
        l1{*this, "l1", kUnits, kUnits},
        bn{*this, "bn", kUnits},
        conv{*this, "conv", 4, 4, 3, L::Convolution2D::Options{.pad = 1}},
        bn2d{*this, "bn2d", 4},
        scale{*this, "scale", {kUnits}, Initializer(1.5)},
        seed_{seed} {}

  Variable operator()(const Variable& x, const Variable& t) {
    place_ = 0;
    std::vector<Variable> values = {x};
    const int ops = 3 + static_cast<int>(draw(12));
    for (int i = 0; i < ops; ++i) values.push_back(op(values));
    // Everything counts, so that gradients meet in many places.
    Variable sum = values.back();
    for (size_t i = 0; i + 1 < values.size(); i += 1 + draw(2)) sum = sum + values[i] * 0.25;
    if (draw(2) == 0) return F::mean_squared_error(F::tanh(sum), x);
    return F::softmax_cross_entropy(sum, t);
  }

  Child<L::Linear> l0, l1;
  Child<L::BatchNormalization> bn;
  Child<L::Convolution2D> conv;
  Child<L::BatchNormalization> bn2d;
  Parameter scale;

 private:
  uint64_t draw(uint64_t n) { return philox_word(seed_, place_++) % n; }
  const Variable& any(const std::vector<Variable>& values) { return values[draw(values.size())]; }

  Variable op(const std::vector<Variable>& values) {
    const Variable& a = any(values);
    switch (draw(22)) {
      case 0:
        return F::relu(l0(a));
      case 1:
        return F::tanh(l1(a));
      case 2:
        return F::sigmoid(a) * any(values);
      case 3:
        return a + any(values);
      case 4:
        return bn(a);
      case 5:
        return F::dropout(a, 0.3);
      case 6:
        return a * F::broadcast_to(scale, a.shape());
      case 7:
        return F::reshape(F::relu(conv(F::reshape(a, {kBatch, 4, 2, 2}))), {kBatch, kUnits});
      case 8:
        return F::concat({F::split_axis(a, 4, 1)[2], F::split_axis(any(values), 2, 1)[0], F::split_axis(a, 4, 1)[0]});
      case 9:
        return F::softmax(a) - any(values) * 0.1;
      case 10:
        return F::broadcast_to(F::sum(a, 1, true), a.shape()) * 0.1 + a;
      case 11:
        return F::transpose(F::transpose(a) * 0.5);
      case 12:
        return F::elu(a - F::average(a));
      case 13:
        return F::clip(a, -1.5, 1.5);
      case 14:
        return F::reshape(F::average_pooling_2d(F::reshape(a, {kBatch, 16, 1, 1}), 1), {kBatch, kUnits});
      case 15:
        return F::reshape(F::relu(bn2d(conv(F::reshape(a, {kBatch, 4, 2, 2})))), {kBatch, kUnits}) + a;
      case 16:
        return F::maximum(a, any(values));
      case 17:
        return F::matmul(F::softmax(F::matmul(a, any(values), {.transb = true})), a);
      case 18:
        return F::leaky_relu(-a, 0.1);
      case 19:
        return F::exp(F::clip(a, -2, 0.5));
      case 20:
        return F::softplus(a) / 2.0;
      default:
        return F::get_item(a, {Slice{}, Slice{{}, {}, -1}});
    }
  }

  uint64_t seed_;
  uint64_t place_ = 0;
};

std::unique_ptr<Optimizer> make_optimizer(int kind) {
  if (kind == 0) return std::make_unique<optimizers::SGD>(0.05);
  if (kind == 1) return std::make_unique<optimizers::MomentumSGD>(0.02, 0.9);
  return std::make_unique<optimizers::Adam>(optimizers::AdamOptions{.alpha = 0.005});
}

/// Counts the functions that run one by one.
class FunctionCounter final : public FunctionHook {
 public:
  void forward_preprocess(const FunctionNode& function, const ArrayRefs&) override {
    if (std::string(function.name()) != "static_graph") ++count;
  }
  int count = 0;
};

struct Trace {
  int functions = 0;  // of the last iteration
  std::vector<double> losses;
  std::vector<std::vector<double>> gradients, parameters;
};

/// The losses of some iterations, then the gradients of the last one, and the parameters and statistics in the end.
template <class Call>
Trace train_random_net(RandomNet& net, Call&& call, int optimizer_kind) {
  const std::unique_ptr<Optimizer> optimizer = make_optimizer(optimizer_kind);
  optimizer->setup(net);
  random::seed(99);
  Trace trace;
  for (int i = 0; i < kIterations; ++i) {
    std::vector<float> numbers(kBatch * kUnits);
    for (size_t k = 0; k < numbers.size(); ++k) {
      numbers[k] = static_cast<float>(philox_word(7 + static_cast<uint64_t>(i), k)) * 0x1p-31f - 1;
    }
    std::vector<int32_t> labels(kBatch);
    for (size_t k = 0; k < labels.size(); ++k)
      labels[k] = static_cast<int32_t>((k * 5 + static_cast<size_t>(i)) % kUnits);
    const Variable x(array(numbers, {kBatch, kUnits}, test_device()), i % 2 == 1);
    const Variable t(array(labels, {kBatch}, test_device()), false);
    net.cleargrads();
    FunctionCounter counter;
    Variable loss;
    {
      const ScopedFunctionHook hook(counter);
      loss = call(x, t);
    }
    trace.functions = counter.count;
    trace.losses.push_back(loss.item<double>());
    loss.backward();
    if (x.requires_grad()) trace.gradients.push_back(x.grad().to_vector<double>());
    if (i + 1 == kIterations) {
      for (Parameter* parameter : net.params()) {
        if (parameter->grad().is_defined()) trace.gradients.push_back(parameter->grad().to_vector<double>());
      }
    }
    optimizer->update();
  }
  for (Parameter* parameter : net.params()) trace.parameters.push_back(parameter->array().to_vector<double>());
  for (const Array& statistic : {Array(net.bn.avg_mean), Array(net.bn.avg_var), Array(net.bn2d.avg_var)}) {
    if (statistic.is_defined()) trace.parameters.push_back(statistic.to_vector<double>());
  }
  return trace;
}

void check_equal(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    if (tolerance == 0) {
      REQUIRE(std::bit_cast<uint64_t>(a[i]) == std::bit_cast<uint64_t>(b[i]));
    } else {
      REQUIRE(std::abs(a[i] - b[i]) <= tolerance * (1 + std::abs(b[i])));
    }
  }
}

void check_equal(const Trace& a, const Trace& b, double tolerance) {
  check_equal(a.losses, b.losses, tolerance);
  REQUIRE(a.gradients.size() == b.gradients.size());
  for (size_t i = 0; i < a.gradients.size(); ++i) check_equal(a.gradients[i], b.gradients[i], tolerance);
  REQUIRE(a.parameters.size() == b.parameters.size());
  for (size_t i = 0; i < a.parameters.size(); ++i) check_equal(a.parameters[i], b.parameters[i], tolerance);
}

void check_random_graphs(const StaticGraphPasses& passes, double tolerance, uint64_t first_seed) {
  const uint64_t networks = test_device().is_cpu() ? 200 : 40;  // each is recorded, planned and captured there
  for (uint64_t seed = first_seed; seed < first_seed + networks; ++seed) {
    CAPTURE(seed);
    const int kind = static_cast<int>(seed % 3);
    random::seed(seed);
    RandomNet eager_net(seed);
    eager_net.to(test_device());
    RandomNet replayed_net(eager_net);
    const Trace eager = train_random_net(
        eager_net, [&](const Variable& x, const Variable& t) { return eager_net(x, t); }, kind);
    StaticGraphOptions options;
    options.passes = passes;
    auto graph = static_graph(replayed_net, options);
    const Trace replayed = train_random_net(
        replayed_net, [&](const Variable& x, const Variable& t) { return graph(x, t); }, kind);
    REQUIRE(eager.functions > 0);
    REQUIRE(replayed.functions == 0);
    check_equal(replayed, eager, tolerance);
  }
}

}  // namespace

TEST_CASE("random networks give the same bits as a static graph, forward, backward and trained") {
  check_random_graphs(StaticGraphPasses::none(), 0, 1);
}

TEST_CASE("with all passes random networks give the same numbers to rounding") {
  check_random_graphs(StaticGraphPasses{}, 1e-5, 1001);
}

}  // namespace kusari
