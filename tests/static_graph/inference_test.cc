#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/loss/mean_squared_error.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/initializers/normal.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/connection/convolution_nd.h"
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
class InferenceNet : public Chain {
 public:
  InferenceNet()
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

Variable random_batch(const Shape& shape) {
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
  InferenceNet net;
  auto fast = static_graph(net);
  optimizers::MomentumSGD optimizer(0.05);
  optimizer.setup(net);
  const Variable batch = random_batch({4, 3, 8, 8}), target = random_batch({4, 6}), image = random_batch({2, 3, 8, 8});
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

  InferenceNet other;
  other(batch);
  net.copyparams(other);
  check();
  {
    const auto evaluation = using_config(&Config::train, false);  // with gradients: nothing may be folded
    const Variable x(image.array(), true), y = fast(x), plain = net(x);
    CHECK(worst(y, plain) < 1e-4);
  }
}

/// A call of a model in test mode, and the same as a static graph; parameters and statistics change in between.
template <class Model, class Call>
std::string check_inference(Model& model, const Shape& shape, Call&& call, double tolerance = 1e-4,
                            Dtype dtype = Dtype::float32) {
  const Variable x(random_batch(shape).array().astype(dtype), false),
      train(random_batch(shape).array().astype(dtype), false);
  auto fast = static_graph([&](const Variable& image) -> Variable { return call(model, image); });
  const auto error = [&](const Variable& image) {
    const auto evaluation = using_config(&Config::train, false);
    const auto no_graph = no_backprop_mode();
    return worst(F::cast(fast(image), Dtype::float32), F::cast(call(model, image), Dtype::float32));
  };
  call(model, train);  // statistics, and whatever is made at the first use
  for (int i = 0; i < 3; ++i) CHECK(error(x) <= tolerance);
  for (Parameter* parameter : model.params())
    parameter->array().copy_from((Variable(parameter->array(), false) * 0.75).array());
  call(model, train);
  CHECK(error(x) <= tolerance);
  CHECK(error(train) <= tolerance);
  for (Parameter* parameter : model.params())
    parameter->set_array((Variable(parameter->array(), false) * 1.25).array());
  CHECK(error(x) <= tolerance);
  return fast.summary();
}

bool is_folded(const std::string& summary) { return summary.find("fold_batch_normalization") != std::string::npos; }

struct Blocks : Chain {
  Child<L::ConvolutionND> conv;
  Child<L::BatchNormalization> bn1, bn2;
  Blocks(int ndim, int64_t in, int64_t out, const L::ConvolutionND::Options& options)
      : conv{*this, "conv", ndim, in, out, 3, options}, bn1{*this, "bn1", out}, bn2{*this, "bn2", out} {}
};

TEST_CASE("static graphs fold batch normalizations into convolutions of every kind") {
  random::seed(4);
  const auto call = [](Blocks& net, const Variable& x) { return net.bn1.relu(net.conv(x)); };
  SUBCASE("1 axis") {
    Blocks net(1, 4, 6, {.pad = 1});
    CHECK(is_folded(check_inference(net, {2, 4, 9}, call)));
  }
  SUBCASE("3 axes") {
    Blocks net(3, 4, 6, {.pad = 1, .nobias = true});
    CHECK(is_folded(check_inference(net, {2, 4, 5, 6, 3}, call)));
  }
  SUBCASE("groups, strides and dilations") {
    Blocks net(2, 4, 6, {.stride = 2, .pad = 2, .dilate = 2, .groups = 2});
    CHECK(is_folded(check_inference(net, {2, 4, 9, 8}, call)));
  }
}

TEST_CASE("static graphs keep what folding must not touch") {
  random::seed(5);
  Blocks net(2, 4, 6, {.pad = 1});
  SUBCASE("weights with two batch normalizations") {
    const std::string summary = check_inference(
        net, {2, 4, 6, 6}, [](Blocks& n, const Variable& x) { return n.bn1(n.conv(x)) * n.bn2(n.conv(x * 2.0)); });
    CHECK(is_folded(summary));
  }
  SUBCASE("one convolution, two batch normalizations") {
    const std::string summary = check_inference(net, {2, 4, 6, 6}, [](Blocks& n, const Variable& x) {
      const Variable h = n.conv(x);
      return n.bn1(h) * n.bn2(h);
    });
    CHECK_FALSE(is_folded(summary));
  }
  SUBCASE("a convolution that is used elsewhere") {
    const std::string summary = check_inference(net, {2, 4, 6, 6}, [](Blocks& n, const Variable& x) {
      const Variable h = n.conv(x);
      return n.bn1(h) + h;
    });
    CHECK_FALSE(is_folded(summary));
  }
  SUBCASE("a view of the convolution's result") {
    const std::string summary = check_inference(net, {2, 4, 6, 6}, [](Blocks& n, const Variable& x) {
      return n.bn1(F::get_item(n.conv(x), {Slice{}, Slice{}, Slice{{}, {}, -1}}));
    });
    CHECK_FALSE(is_folded(summary));
  }
}

TEST_CASE("static graphs take residuals and addends in any memory order") {
  random::seed(6);
  Blocks net(2, 6, 6, {.pad = 1});
  const auto turned = [](const Variable& x) { return F::transpose(F::transpose(x, {1, 0, 3, 2}) * 0.5, {1, 0, 3, 2}); };
  check_inference(net, {2, 6, 5, 5},
                  [&](Blocks& n, const Variable& x) { return n.bn1.add_relu(n.conv(x), turned(x)); });
  check_inference(net, {2, 6, 5, 5}, [&](Blocks& n, const Variable& x) { return F::relu(n.conv(x) + turned(x)); });
  check_inference(net, {2, 6, 5, 5}, [&](Blocks& n, const Variable& x) { return F::relu(n.conv(turned(x)) + x); });
}

}  // namespace
}  // namespace kusari
