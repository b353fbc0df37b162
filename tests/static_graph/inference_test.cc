#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/loss/mean_squared_error.h"
#include "kusari/framework/initializers/normal.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/framework/static_graph/static_graph.h"
#include "kusari/optimizers/momentum_sgd.h"

// Static graphs of trained networks: what is folded into weights must follow them.
namespace kusari {
namespace {

namespace F = functions;
namespace L = links;

/// A residual block and a linear layer with a batch normalization of its own.
class Net : public Chain {
 public:
  Net()
      : conv1{*this, "conv1", 3, 32, 3, {.pad = 1, .nobias = true}},
        bn1{*this, "bn1", 32},
        conv2{*this, "conv2", 32, 32, 3, {.pad = 1}},
        bn2{*this, "bn2", 32},
        conv3{*this, "conv3", 32, 8, 1},
        fc{*this, "fc", 8 * 8 * 8, 6},
        bn3{*this, "bn3", 6} {}
  Variable operator()(const Variable& x) {
    const Variable h = bn1.relu(conv1(x));
    return bn3(fc(F::relu(conv3(bn2.add_relu(conv2(h), h)))));
  }

 private:
  Child<L::Convolution2D> conv1;
  Child<L::BatchNormalization> bn1;
  Child<L::Convolution2D> conv2;
  Child<L::BatchNormalization> bn2;
  Child<L::Convolution2D> conv3;
  Child<L::Linear> fc;
  Child<L::BatchNormalization> bn3;
};

Variable draw(const Shape& shape) {
  return Variable(initializers::generate_array(initializers::Normal(1.0), shape, Dtype::float32, Device()), false);
}

double worst(const Variable& a, const Variable& b) {
  const auto x = a.array().to_vector<float>(), y = b.array().to_vector<float>();
  REQUIRE(x.size() == y.size());
  double error = 0;
  for (size_t i = 0; i < x.size(); ++i) error = std::max(error, static_cast<double>(std::abs(x[i] - y[i])));
  return error;
}

TEST_CASE("static graphs of trained networks follow their parameters and statistics") {
  random::seed(3);
  Net net;
  auto fast = static_graph(net);
  optimizers::MomentumSGD optimizer(0.05);
  optimizer.setup(net);
  const Variable batch = draw({4, 3, 8, 8}), target = draw({4, 6}), image = draw({2, 3, 8, 8});
  const auto train = [&] { optimizer.update([&] { return F::mean_squared_error(net(batch), target); }); };
  const auto check = [&] {
    const auto evaluation = using_config(&Config::train, false);
    const auto no_graph = no_backprop_mode();
    const Variable expected = net(image);
    CHECK(worst(fast(image), expected) < 1e-4);
    CHECK(worst(fast(image), expected) < 1e-4);
    return expected;
  };

  train();
  const Variable first = check();
  const std::string summary = fast.summary();
  CHECK(summary.find("fixed_batch_normalization:") == std::string::npos);
  CHECK(summary.find("folded 3") != std::string::npos);
  train();  // in place: weights, gamma, beta, running statistics
  const Variable second = check();
  CHECK(worst(first, second) > 1e-3);

  Net other;
  other(batch);
  net.copyparams(other);
  check();
  {
    const auto evaluation = using_config(&Config::train, false);  // with gradients: nothing may be folded
    const Variable x(image.array(), true), y = fast(x), plain = net(x);
    CHECK(worst(y, plain) < 1e-4);
  }
}

}  // namespace
}  // namespace kusari
