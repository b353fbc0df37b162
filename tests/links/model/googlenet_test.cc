#include "kusari/framework/links/model/googlenet.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/tests/links/model/vision_testing.h"

namespace kusari::testing {
namespace {

using Names = std::vector<std::string>;

TEST_CASE("layers of Chainer's GoogLeNet") {
  L::GoogLeNet model;
  CHECK(model.available_layers() ==
        Names{"conv1",        "pool1",     "conv2_reduce", "conv2",        "pool2",        "inception_3a",
              "inception_3b", "pool3",     "inception_4a", "inception_4b", "inception_4c", "inception_4d",
              "inception_4e", "pool4",     "inception_5a", "inception_5b", "pool5",        "loss3_fc",
              "prob",         "loss1_fc2", "loss2_fc2"});
  // The three heads, and 6,8 million in between: Szegedy et al. 2014, table 1,
  // with the auxiliary classifiers.
  CHECK(model.count_params() == 13'378'280);
  CHECK(model.param("/inc3a/conv1/W").shape() == Shape{64, 192, 1, 1});
  CHECK(model.param("/inc4d/proj5/b").shape() == Shape{32});
  CHECK(model.param("/loss1_fc1/W").shape() == Shape{1024, 2048});

  const auto evaluation = using_config(&Config::train, false);
  const auto no_graph = no_backprop_mode();
  const Variable x = images(1, 224);
  const L::Activations h = model(x, model.available_layers());
  CHECK(h.at("pool1").shape() == Shape{1, 64, 56, 56});
  CHECK(h.at("pool2").shape() == Shape{1, 192, 28, 28});
  CHECK(h.at("inception_3b").shape() == Shape{1, 480, 28, 28});
  CHECK(h.at("inception_4e").shape() == Shape{1, 832, 14, 14});
  CHECK(h.at("inception_5b").shape() == Shape{1, 1024, 7, 7});
  CHECK(h.at("pool5").shape() == Shape{1, 1024, 1, 1});
  for (const char* const head : {"loss1_fc2", "loss2_fc2", "loss3_fc", "prob"})
    CHECK(h.at(head).shape() == Shape{1, 1000});

  // An auxiliary head hangs on its own module, and asking for it alone gives
  // the same.
  CHECK(model(x, {"loss1_fc2"}).at("loss1_fc2").to_vector<double>() == h.at("loss1_fc2").to_vector<double>());
  model.inc4b.conv1.W.array().fill(0);
  CHECK(model(x, {"loss1_fc2"}).at("loss1_fc2").to_vector<double>() == h.at("loss1_fc2").to_vector<double>());
  CHECK(model(x, {"loss2_fc2"}).at("loss2_fc2").to_vector<double>() != h.at("loss2_fc2").to_vector<double>());
}

TEST_CASE("GoogLeNet learns and is a value") {
  L::GoogLeNet model({.n_classes = 2});
  check_value(model, L::GoogLeNet({.n_classes = 2}), 224);
  check_learns([] { return L::GoogLeNet({.n_classes = 2}); }, {.size = 224, .lr = 0.003, .steps = 10, .scale = 128});
}

}  // namespace
}  // namespace kusari::testing
