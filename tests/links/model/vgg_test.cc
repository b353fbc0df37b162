#include "kusari/framework/links/model/vgg.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/initializers/he.h"
#include "kusari/tests/links/model/vision_testing.h"

namespace kusari::testing {
namespace {

using Names = std::vector<std::string>;

// Source: torchvision.models' documentation.
TEST_CASE("VGG has the published numbers of parameters") {
  CHECK(L::VGG16Layers({.initial_w = 0}).count_params() == 138'357'544);
  CHECK(L::VGG19Layers({.initial_w = 0}).count_params() == 143'667'240);
}

TEST_CASE("layers of Chainer's VGG16Layers") {
  L::VGG16Layers model({.n_classes = 7, .image_size = 40});
  CHECK(model.available_layers() == Names{"conv1_1", "conv1_2", "pool1",   "conv2_1", "conv2_2", "pool2",
                                          "conv3_1", "conv3_2", "conv3_3", "pool3",   "conv4_1", "conv4_2",
                                          "conv4_3", "pool4",   "conv5_1", "conv5_2", "conv5_3", "pool5",
                                          "fc6",     "fc7",     "fc8",     "prob"});
  const auto evaluation = using_config(&Config::train, false);
  const L::Activations h = model(images(2, 40), {"conv1_2", "pool1", "conv3_3", "pool5", "fc7", "fc8", "prob"});
  CHECK(h.at("conv1_2").shape() == Shape{2, 64, 40, 40});
  CHECK(h.at("pool1").shape() == Shape{2, 64, 20, 20});
  CHECK(h.at("conv3_3").shape() == Shape{2, 256, 10, 10});
  CHECK(h.at("pool5").shape() == Shape{2, 512, 2, 2});  // 20, 10, 5, 3, 2
  CHECK(h.at("fc7").shape() == Shape{2, 4096});
  CHECK(h.at("fc8").shape() == Shape{2, 7});
  CHECK(h.at("prob").shape() == Shape{2, 7});
  CHECK(model.extract({uniform({3, 20, 20}, 0, 255)}).count("fc7") == 1);
}

TEST_CASE("VGG19Layers has three more convolutions") {
  L::VGG19Layers model({.n_classes = 2, .image_size = 32, .initial_w = initializers::HeNormal()});
  CHECK(model.available_layers().size() == 25);
  const auto evaluation = using_config(&Config::train, false);
  const Variable x = images(1, 32);
  const std::vector<double> y = scores(model, x);
  CHECK(y.size() == 2);
  for (L::Convolution2D* const conv :
       {&static_cast<L::Convolution2D&>(model.conv3_4), &static_cast<L::Convolution2D&>(model.conv4_4),
        &static_cast<L::Convolution2D&>(model.conv5_4)}) {
    const Array kept = conv->W.array().copy();
    conv->W.array().fill(0);
    CHECK(scores(model, x) != y);
    conv->W.array().copy_from(kept);
  }
}

TEST_CASE("VGG16Layers learns and is a value") {
  const L::VGGLayersOptions options = {.n_classes = 2, .image_size = 32, .initial_w = initializers::HeNormal()};
  L::VGG16Layers model(options);
  check_value(model, L::VGG16Layers(options), 32);
  check_learns([&] { return L::VGG16Layers(options); }, {.size = 32, .lr = 5e-5, .steps = 5});
}

}  // namespace
}  // namespace kusari::testing
