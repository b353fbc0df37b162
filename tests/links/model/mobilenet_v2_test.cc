#include "kusari/framework/links/model/mobilenet_v2.h"

#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/functions/activation/clipped_relu.h"
#include "kusari/framework/functions/connection/convolution_2d.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/normalization/batch_normalization.h"
#include "kusari/tests/links/model/vision_testing.h"

namespace kusari::testing {
namespace {

constexpr L::MobileNetV2Stem kCifarMobileNet = L::MobileNetV2Stem::cifar;

// Source: torchvision.models' documentation; 1,281 fewer for each of 990
// classes less.
TEST_CASE("MobileNetV2 has the published number of parameters") {
  CHECK(L::MobileNetV2({.initial_w = 0}).count_params() == 3'504'872);
  CHECK(L::MobileNetV2({.n_classes = 10, .stem = kCifarMobileNet, .initial_w = 0}).count_params() == 2'236'682);
}

TEST_CASE("sizes of MobileNetV2's layers") {
  const auto evaluation = using_config(&Config::train, false);
  const auto no_graph = no_backprop_mode();
  L::MobileNetV2 model({.n_classes = 5});
  L::Activations h = model(images(2, 64), model.available_layers());
  CHECK(h.at("conv1").shape() == Shape{2, 32, 32, 32});
  CHECK(h.at("block0").shape() == Shape{2, 16, 32, 32});
  CHECK(h.at("blocks").shape() == Shape{2, 320, 2, 2});
  CHECK(h.at("conv2").shape() == Shape{2, 1280, 2, 2});
  CHECK(h.at("pool").shape() == Shape{2, 1280});
  CHECK(h.at("prob").shape() == Shape{2, 5});
  L::MobileNetV2 small({.n_classes = 5, .stem = kCifarMobileNet});
  h = small(images(2, 32), {"conv1", "blocks"});
  CHECK(h.at("conv1").shape() == Shape{2, 32, 32, 32});
  CHECK(h.at("blocks").shape() == Shape{2, 320, 4, 4});
}

TEST_CASE("an inverted residual refuses channels that no six times are of") {
  CHECK_THROWS_AS(L::InvertedResidual(std::numeric_limits<int64_t>::max(), 1, 1, {}), ValueError);
  CHECK_THROWS_AS(L::InvertedResidual(std::numeric_limits<int64_t>::min(), 1, 1, {}), ValueError);
}

TEST_CASE("an inverted residual adds its input where nothing changes size") {
  for (const int64_t out : {8, 4}) {
    for (const int64_t stride : {1, 2}) {
      L::InvertedResidual block(8, out, stride, {});
      const Variable x(uniform({2, 8, 6, 6}, -1, 1).astype(Dtype::float32), false);
      const auto bn = [](L::BatchNormalization& link, const Variable& h) {
        return functions::batch_normalization(h, link.gamma, link.beta);
      };
      Variable h = functions::clipped_relu(bn(block.bn, functions::convolution_2d(x, block.expand.W)), 6);
      CHECK(h.shape() == Shape{2, 48, 6, 6});
      h = functions::convolution_2d(h, block.separable.depthwise.W, Variable(),
                                    {.stride = stride, .pad = 1, .groups = 48});
      h = functions::clipped_relu(bn(block.separable.bn1, h), 6);
      h = bn(block.separable.bn2, functions::convolution_2d(h, block.separable.project.W));
      if (out == 8 && stride == 1) h = x + h;
      const int64_t size = stride == 1 ? 6 : 3;
      check_close(block(x), {2, out, size, size}, h.to_vector<double>(), 100);
    }
  }
}

TEST_CASE("MobileNetV2 learns and is a value") {
  const L::MobileNetV2Options options = {.n_classes = 2, .stem = kCifarMobileNet, .dropout_ratio = 0};
  L::MobileNetV2 model(options);
  check_value(model, L::MobileNetV2(options), 16);
  check_learns([&] { return L::MobileNetV2(options); }, {.size = 16, .lr = 0.02, .steps = 6});
}

}  // namespace
}  // namespace kusari::testing
