#include "kusari/framework/links/model/efficientnet.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/tests/links/model/vision_testing.h"

namespace kusari::testing {
namespace {

using Names = std::vector<std::string>;

// Source: the numbers of tf.keras.applications without the running statistics and what normalizes
// its input, which are torchvision's.
TEST_CASE("the EfficientNets have the published numbers of parameters") {
  const auto params = [](int64_t phi) { return L::EfficientNet({.phi = phi, .initial_w = 0}).count_params(); };
  CHECK(params(0) == 5'288'548);
  CHECK(params(1) == 7'794'184);
  CHECK(params(2) == 9'109'994);
  CHECK(params(3) == 12'233'232);
  CHECK(params(4) == 19'341'616);
  CHECK(L::EfficientNet({.top = false, .initial_w = 0}).count_params() == 3'595'388);
}

TEST_CASE("layers of EfficientNet-B0") {
  const L::EfficientNet model({.n_classes = 7});
  CHECK(model.available_layers() == Names{"stem", "stage1", "stage2", "stage3", "stage4", "stage5", "stage6", "stage7",
                                          "top", "pool", "fc", "prob"});
  const auto evaluation = using_config(&Config::train, false);
  const auto no_graph = no_backprop_mode();
  L::Activations h = model(images(2, 64), model.available_layers());
  CHECK(h.at("stem").shape() == Shape{2, 32, 32, 32});
  CHECK(h.at("stage1").shape() == Shape{2, 16, 32, 32});
  CHECK(h.at("stage3").shape() == Shape{2, 40, 8, 8});
  CHECK(h.at("stage5").shape() == Shape{2, 112, 4, 4});
  CHECK(h.at("stage7").shape() == Shape{2, 320, 2, 2});
  CHECK(h.at("top").shape() == Shape{2, 1280, 2, 2});
  CHECK(h.at("prob").shape() == Shape{2, 7});
  CHECK(L::EfficientNet::stage_channels(0, 5) == 112);
  CHECK(L::EfficientNet::stage_channels(3, 3) == 48);
}

TEST_CASE("an EfficientNet without its top gives means of its last stage") {
  L::EfficientNet model({.top = false});
  CHECK(model.available_layers().back() == "pool");
  const auto evaluation = using_config(&Config::train, false);
  const auto no_graph = no_backprop_mode();
  CHECK(model(images(2, 32)).shape() == Shape{2, 320});
  for (const auto& [path, parameter] : model.namedparams()) CHECK(path.find("/top") == std::string::npos);
  L::EfficientNet copied(model);
  copied = model;
  CHECK(copied.count_params() == model.count_params());
}

TEST_CASE("drop_connect leaves out whole branches of examples while training") {
  const L::MBConv block(
      {.in_channels = 4, .out_channels = 4, .expansion = 6, .ksize = 3, .stride = 1, .drop_connect = 0.5}, {});
  random::seed(1);
  const Array x = images(16, 8).array().slice(1, 0, 3);
  const Array wide = empty({16, 4, 8, 8}, Dtype::float32);
  wide.slice(1, 0, 3).copy_from(x);
  wide.slice(1, 3, 1).copy_from(x.slice(1, 0, 1));
  const Array y = block(wide).array();
  int64_t left_out = 0;
  for (int64_t i = 0; i < 16; ++i) {
    left_out += y.at(i).to_vector<float>() == wide.at(i).to_vector<float>() ? 1 : 0;
  }
  CHECK((left_out > 2 && left_out < 14));
  const auto evaluation = using_config(&Config::train, false);
  CHECK(block(wide).array().to_vector<float>() == block(wide).array().to_vector<float>());
}

TEST_CASE("EfficientNet refuses options out of range") {
  CHECK_THROWS_WITH_AS(L::EfficientNet({.phi = 8}), "L::EfficientNet: phi is 8: it must be in [0, 7]", ValueError);
  CHECK_THROWS_AS(L::EfficientNet({.drop_connect = 1}), ValueError);
  CHECK_THROWS_AS(L::EfficientNet::stage_channels(0, 8), ValueError);
}

}  // namespace
}  // namespace kusari::testing
