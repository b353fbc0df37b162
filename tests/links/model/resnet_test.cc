#include "kusari/framework/links/model/resnet.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/connection/convolution_2d.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/normalization/batch_normalization.h"
#include "kusari/framework/functions/pooling/max_pooling_nd.h"
#include "kusari/tests/links/model/vision_testing.h"

namespace kusari::testing {
namespace {

using Names = std::vector<std::string>;
constexpr L::ResNetStem kCifarResNet = L::ResNetStem::cifar;

// Sources: torchvision.models' documentation; chainer.links.ResNet50Layers' (64
// more, the bias of conv1).
TEST_CASE("the ResNets have the published numbers of parameters") {
  const L::ResNetOptions zero = {.initial_w = 0};
  CHECK(L::ResNet18(zero).count_params() == 11'689'512);
  CHECK(L::ResNet34(zero).count_params() == 21'797'672);
  CHECK(L::ResNet50(zero).count_params() == 25'557'032);
  CHECK(L::ResNet101(zero).count_params() == 44'549'160);
  CHECK(L::ResNet152(zero).count_params() == 60'192'808);
  CHECK(L::ResNet50Layers({.initial_w = 0}).count_params() == 25'557'096);
  CHECK(L::ResNet101Layers({.initial_w = 0}).count_params() == 44'549'224);
  CHECK(L::ResNet152Layers({.initial_w = 0}).count_params() == 60'192'872);
  CHECK(L::ResNet18({.n_classes = 10, .stem = kCifarResNet, .initial_w = 0}).count_params() == 11'173'962);
}

TEST_CASE("residual blocks are called a, b1, b2, .. and a ResNet prints them") {
  L::ResNet18 model({.n_classes = 10, .stem = kCifarResNet, .initial_w = 0});
  Names names;
  for (const auto& [path, parameter] : model.namedparams()) {
    if (path.rfind("/res3/", 0) == 0) names.push_back(path);
  }
  CHECK(names == Names{"/res3/a/bn1/beta", "/res3/a/bn1/gamma", "/res3/a/bn2/beta", "/res3/a/bn2/gamma",
                       "/res3/a/bn3/beta", "/res3/a/bn3/gamma", "/res3/a/conv1/W", "/res3/a/conv2/W", "/res3/a/conv3/W",
                       "/res3/b1/bn1/beta", "/res3/b1/bn1/gamma", "/res3/b1/bn2/beta", "/res3/b1/bn2/gamma",
                       "/res3/b1/conv1/W", "/res3/b1/conv2/W"});
  const std::string text = to_string(model);
  CHECK(text.find("(res3): ResidualBlocks(\n    (a): BasicA(") != std::string::npos);
  CHECK(text.find("(b1): BasicB(") != std::string::npos);
}

TEST_CASE("layers of Chainer's ResNet50Layers") {
  L::ResNet50Layers model({.n_classes = 7});
  CHECK(model.available_layers() == Names{"conv1", "pool1", "res2", "res3", "res4", "res5", "pool5", "fc6", "prob"});
  const auto evaluation = using_config(&Config::train, false);
  const auto no_graph = no_backprop_mode();
  const Variable x = images(2, 64);
  L::Activations h = model(x, model.available_layers());
  CHECK(h.at("conv1").shape() == Shape{2, 64, 32, 32});
  CHECK(h.at("pool1").shape() == Shape{2, 64, 16, 16});
  CHECK(h.at("res2").shape() == Shape{2, 256, 16, 16});
  CHECK(h.at("res3").shape() == Shape{2, 512, 8, 8});
  CHECK(h.at("res4").shape() == Shape{2, 1024, 4, 4});
  CHECK(h.at("res5").shape() == Shape{2, 2048, 2, 2});
  CHECK(h.at("pool5").shape() == Shape{2, 2048});
  CHECK(h.at("fc6").to_vector<double>() == model(x).to_vector<double>());
  check_close(functions::sum(h.at("prob"), {1}), {2}, {1, 1});
  CHECK(h.at("res5").array().is_channels_last() == config().channels_last);
  CHECK(model(x, {"pool1"}).size() == 1);
  CHECK_THROWS_WITH_AS(model(x, {"pool2"}),
                       "VisionModel: there is no layer pool2; there are conv1 "
                       "pool1 res2 res3 res4 res5 pool5 fc6 prob",
                       ValueError);
}

// The same blocks out of single functions.
struct Composite {
  Link& model;
  Variable conv(const std::string& path, const Variable& x, int64_t stride, int64_t pad) const {
    return functions::convolution_2d(x, model.param(path + "/W"), Variable(), {.stride = stride, .pad = pad});
  }
  Variable bn(const std::string& path, const Variable& x) const {
    return functions::batch_normalization(x, model.param(path + "/gamma"), model.param(path + "/beta"));
  }
};

TEST_CASE("a basic block computes relu(bn(conv(relu(bn(conv x)))) + shortcut)") {
  L::ResNet18 model({.n_classes = 10, .stem = kCifarResNet});
  const L::Activations h = model(images(3, 8), {"conv1", "pool1", "res2", "res3"});
  CHECK(is_same(h.at("pool1"), h.at("conv1")));
  const Composite f{model};
  const auto block = [&](const std::string& at, const Variable& x, int64_t stride) {
    const Variable y = functions::relu(f.bn(at + "/bn1", f.conv(at + "/conv1", x, stride, 1)));
    const Variable z = f.bn(at + "/bn2", f.conv(at + "/conv2", y, 1, 1));
    return functions::relu(z + (stride == 1 ? x : f.bn(at + "/bn3", f.conv(at + "/conv3", x, stride, 0))));
  };
  const Variable res2 = block("/res2/b1", block("/res2/a", h.at("conv1"), 1), 1);
  check_close(h.at("res2"), {3, 64, 8, 8}, res2.to_vector<double>(), 100);
  const Variable res3 = block("/res3/b1", block("/res3/a", res2, 2), 1);
  check_close(h.at("res3"), {3, 128, 4, 4}, res3.to_vector<double>(), 100);
}

TEST_CASE("a bottleneck strides in its first or in its second convolution") {
  for (const bool downsample_1x1 : {false, true}) {
    CAPTURE(downsample_1x1);
    L::ResNet50 model({.n_classes = 10, .stem = kCifarResNet, .downsample_1x1 = downsample_1x1});
    const L::Activations h = model(images(3, 8), {"res2", "res3"});
    const Composite f{model};
    const auto block = [&](const std::string& at, const Variable& x, int64_t stride) {
      const int64_t first = downsample_1x1 ? stride : 1, second = downsample_1x1 ? 1 : stride;
      const Variable y = functions::relu(f.bn(at + "/bn1", f.conv(at + "/conv1", x, first, 0)));
      const Variable z = functions::relu(f.bn(at + "/bn2", f.conv(at + "/conv2", y, second, 1)));
      const Variable shortcut = stride == 1 ? x : f.bn(at + "/bn4", f.conv(at + "/conv4", x, stride, 0));
      return functions::relu(f.bn(at + "/bn3", f.conv(at + "/conv3", z, 1, 0)) + shortcut);
    };
    Variable y = block("/res3/a", h.at("res2"), 2);
    for (const char* const at : {"/res3/b1", "/res3/b2", "/res3/b3"}) y = block(at, y, 1);
    check_close(h.at("res3"), {3, 512, 4, 4}, y.to_vector<double>(), 1000);
  }
}

TEST_CASE(
    "pool1 of Chainer's ResNets covers the border, that of the others is "
    "padded") {
  L::ResNet50 padded({.n_classes = 2, .initial_w = 0.01});
  L::ResNet50Layers chainer({.n_classes = 2, .initial_w = 0.01});
  const Variable x = images(1, 36);
  L::Activations h = padded(x, {"conv1", "pool1"});
  CHECK(h.at("pool1").shape() == Shape{1, 64, 9, 9});
  CHECK(h.at("pool1").to_vector<double>() ==
        functions::max_pooling_2d(h.at("conv1"), 3, {.stride = 2, .pad = 1, .cover_all = false}).to_vector<double>());
  h = chainer(x, {"conv1", "pool1"});
  CHECK(h.at("pool1").to_vector<double>() ==
        functions::max_pooling_2d(h.at("conv1"), 3, {.stride = 2}).to_vector<double>());
}

TEST_CASE("ResNets learn") {
  check_learns([] { return L::ResNet18({.n_classes = 2, .stem = kCifarResNet}); }, {.size = 16, .lr = 0.01});
  check_learns([] { return L::ResNet50({.n_classes = 2}); }, {.size = 64, .lr = 0.0005, .steps = 6, .n = 8});
  check_learns([] { return L::ResNet50Layers({.n_classes = 2}); }, {.size = 64, .lr = 0.0005, .steps = 6, .n = 8});
}

TEST_CASE("a ResNet is a value") {
  L::ResNet18 model({.n_classes = 3, .stem = kCifarResNet});
  check_value(model, L::ResNet18({.n_classes = 3, .stem = kCifarResNet}), 8);
  L::ResNet50Layers chainer({.n_classes = 3});
  check_value(chainer, L::ResNet50Layers({.n_classes = 3}), 32);
}

TEST_CASE("extract and predict prepare the images") {
  L::ResNet18 model({.n_classes = 3, .stem = kCifarResNet});
  std::vector<Array> pictures;
  for (const Shape& shape : {Shape{3, 40, 30}, Shape{1, 20, 50}}) {
    pictures.push_back(uniform(shape, 0, 255).astype(Dtype::uint8));
  }
  const auto evaluation = using_config(&Config::train, false);
  const L::Activations h = model.extract(pictures, {"fc6", "pool5"});
  CHECK(h.at("pool5").shape() == Shape{2, 512});
  CHECK(model.extract(pictures).count("pool5") == 1);
  const Variable alone(model.prepare(pictures[1]).expand_dims(0), false);
  check_close(functions::sum(model(alone)), {}, {functions::sum(h.at("fc6").array().slice(0, 1, 1)).item<double>()},
              100);
  CHECK_THROWS_WITH_AS(model.extract(pictures, {}, std::nullopt),
                       "VisionModel: image 1 has shape (3, 20, 50) but image 0 "
                       "has (3, 40, 30): images that are not "
                       "resized must be alike",
                       ValueError);
  CHECK(model.extract(pictures, {"res5"}, PerAxis{16, 24}).at("res5").shape() == Shape{2, 512, 2, 3});

  // Of a model that only sees the mean colour, all crops of a plain picture are
  // alike.
  const Array plain = full({3, 50, 50}, 77, Dtype::uint8);
  for (const bool oversample : {false, true}) {
    const Variable y = model.predict({plain, pictures[0]}, oversample);
    CHECK(y.shape() == Shape{2, 3});
    check_close(functions::sum(y, {1}), {2}, {1, 1});
    check_close(Variable(y.array().at(0)), {3},
                model({Variable(model.prepare(plain).expand_dims(0), false)}, {"prob"}).at("prob").to_vector<double>(),
                100);
  }
  CHECK(model.predict({pictures[0]}, true).to_vector<double>() !=
        model.predict({pictures[0]}, false).to_vector<double>());
  CHECK_THROWS_AS(model.predict({}), ValueError);
}

TEST_CASE("a ResNet without its last layer") {
  L::ResNet18 model({.initial_w = 0, .fc6 = false});
  CHECK(model.count_params() == 11'689'512 - 513'000);
  CHECK(model.available_layers() == Names{"conv1", "pool1", "res2", "res3", "res4", "res5", "pool5"});
  const auto evaluation = using_config(&Config::train, false);
  CHECK(model(images(2, 64)).shape() == Shape{2, 512});
  CHECK_THROWS_AS(model(images(2, 64), Names{"fc6"}), ValueError);
  L::ResNet18 other({.initial_w = 0, .fc6 = false});
  other = model;
  CHECK(other.namedparams().size() == model.namedparams().size());
}

TEST_CASE("ResNetN is the ResNet of its depth") {
  CHECK(L::ResNetN(34, {.initial_w = 0}).count_params() == 21'797'672);
  CHECK(L::ResNetN(50, {.initial_w = 0}).count_params() == 25'557'032);
  CHECK(L::ResNetN::stage_channels(18, 5) == 512);
  CHECK(L::ResNetN::stage_channels(101, 3) == 512);
  CHECK_THROWS_AS(L::ResNetN(20), ValueError);
  CHECK_THROWS_AS(L::ResNetN::stage_channels(18, 1), ValueError);
}

}  // namespace
}  // namespace kusari::testing
