#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/amp/autocast.h"
#include "kusari/framework/kusari.h"
#include "kusari/tests/amp/casting.h"

namespace kusari {
namespace {

using namespace kusari::testing;

// |a - b| / |b|
double distance(const Array& a, const Array& b) {
  const std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>();
  double difference = 0, size = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    difference += (x[i] - y[i]) * (x[i] - y[i]);
    size += y[i] * y[i];
  }
  return std::sqrt(difference / (size + 1e-12));
}

struct Result {
  Array y;
  std::vector<Array> gradients;
};

template <class Model>
Result run(Model& model, const Variable& x, bool autocast) {
  model.cleargrads();
  Variable y;
  {
    const amp::Autocast region({.enabled = autocast});
    y = model(x);
  }
  // An uneven weight for each output, so that no gradient is a sum that cancels.
  Variable(y).set_grad(uniform(y.shape(), 0.5, 1.5, 3).astype(y.dtype()));
  y.backward();
  Result result{y.array(), {}};
  for (const auto& [path, parameter] : model.namedparams()) {
    CAPTURE(path);
    REQUIRE(parameter->grad().is_defined());
    CHECK(parameter->dtype() == Dtype::float32);
    CHECK(parameter->grad().dtype() == Dtype::float32);
    result.gradients.push_back(parameter->grad().copy());
  }
  return result;
}

template <class Model>
void check_link(const std::string& name, Model model, const Variable& x) {
  CAPTURE(name);
  model.to(test_device());
  model(x);  // sizes that the first batch decides
  const Result exact = run(model, x, false);
  for (const Dtype dtype : {Dtype::float32, default_dtype()}) {
    const Variable input = x.array().is_floating() ? Variable(x.array().astype(dtype), false) : x;
    const Result cast = run(model, input, true);
    CHECK(distance(cast.y, exact.y) < 0.05);
    for (size_t i = 0; i < exact.gradients.size(); ++i) {
      CAPTURE(i);
      CHECK(distance(cast.gradients[i], exact.gradients[i]) < 0.1);
    }
  }
}

TEST_CASE("amp::Autocast: every link computes in a region") {
  random::seed(3);
  const Variable rows = constant({8, 6}), image = constant({4, 4, 6, 6});
  const Variable ids(zeros({8}, Dtype::int32, test_device()), false);
  check_link("Linear", L::Linear(6, 3), rows);
  check_link("EmbedID", L::EmbedID(5, 3), ids);
  check_link("Highway", L::Highway(6), rows);
  check_link("Maxout", L::Maxout(6, 3, 2), rows);
  check_link("PReLU", L::PReLU({.shape = {6}}), rows);
  check_link("Swish", L::Swish(Shape{6}), rows);
  check_link("Bias", L::Bias({.shape = Shape{6}}), rows);
  check_link("Scale", L::Scale({.w_shape = Shape{6}, .bias_term = true}), rows);
  check_link("Convolution2D", L::Convolution2D(4, 3, 3), image);
  check_link("Deconvolution2D", L::Deconvolution2D(4, 3, 3), image);
  check_link("DilatedConvolution2D", L::DilatedConvolution2D(4, 3, 3, {.dilate = 2}), image);
  check_link("DepthwiseConvolution2D", L::DepthwiseConvolution2D(4, 2, 3), image);
  check_link("LocalConvolution2D", L::LocalConvolution2D(4, 3, 6, 3), image);
  check_link("MLPConvolution2D", L::MLPConvolution2D(4, {3, 2}, 3), image);
  check_link("Inception", L::Inception(4, {.out1 = 2, .proj3 = 2, .out3 = 2, .proj5 = 2, .out5 = 2, .proj_pool = 2}),
             image);
  check_link("BatchNormalization", L::BatchNormalization(4), image);
  check_link("BatchRenormalization", L::BatchRenormalization(4), image);
  check_link("GroupNormalization", L::GroupNormalization(2, 4), image);
  check_link("LayerNormalization", L::LayerNormalization(6), rows);
  check_link("DecorrelatedBatchNormalization", L::DecorrelatedBatchNormalization(4, {.groups = 2}), image);
}

TEST_CASE("amp::Autocast: positions of a deformable convolution go through 16 bits, no more") {
  L::DeformableConvolution2D model(4, 3, 3);
  model.to(test_device());
  const Variable image = constant({2, 4, 6, 6});
  const Variable exact = model(image);
  const amp::Autocast autocast;
  const Variable y = model(image);
  CHECK(y.dtype() == default_dtype());
  CHECK(distance(y.array(), exact.array()) < 0.05);
}

TEST_CASE("amp::Autocast: a model learns as it does in float32") {
  // Both branches of a block meet, the loss is a composite, and the optimizer writes between the uses of the cache.
  class Net : public Chain {
   public:
    Net() : l1{*this, "l1", 4, 16}, l2{*this, "l2", 16, 16}, l3{*this, "l3", 16, 2} {}
    Variable operator()(const Variable& x) {
      const Variable h = F::relu(l1(x));
      return l3(F::relu(l2(h)) + h);
    }

   private:
    Child<L::Linear> l1, l2, l3;
  };
  const Variable x = constant({32, 4}),
                 t(F::concat({F::sum(x, 1, true), F::square(x).array().slice(1, 0, 1)}, 1).array());
  const auto final_loss = [&](bool enabled, bool one_region) {
    random::seed(5);
    Net model;
    model.to(test_device());
    optimizers::Adam optimizer({.alpha = 0.02});
    optimizer.setup(model);
    const amp::Autocast outer({.enabled = enabled && one_region});
    Variable loss;
    for (int i = 0; i < 60; ++i) {
      {
        const amp::Autocast inner({.enabled = enabled});
        loss = F::huber_loss(model(x), t, 1.0, F::HuberReduce::sum_along_second_axis);
        loss = F::mean(loss);
      }
      model.cleargrads();
      loss.backward();
      optimizer.update();
    }
    return loss.item<double>();
  };
  const double exact = final_loss(false, false);
  CHECK(exact < 0.02);
  CHECK(final_loss(true, false) < 2 * exact + 0.002);
  CHECK(final_loss(true, true) == final_loss(true, false));
}

}  // namespace
}  // namespace kusari
