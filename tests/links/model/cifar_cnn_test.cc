#include "kusari/framework/links/model/cifar_cnn.h"

#include <doctest/doctest.h>

#include "kusari/tests/links/model/vision_testing.h"

namespace kusari::testing {
namespace {

TEST_CASE("CifarCnn has 9,122,954 parameters and 1,024 running statistics") {
  L::CifarCnn model({.initial_w = 0});
  CHECK(model.count_params() == 9'122'954);
  CHECK(model.bn.avg_mean.size() + model.bn.avg_var.size() == 1024);
  CHECK(model.convs.size() == 12);
  CHECK(model.param("/convs/7/W").shape() == Shape{512, 512, 3, 3});
  CHECK(model(images(2, 32)).shape() == Shape{2, 10});
}

TEST_CASE("CifarCnn learns and is a value") {
  L::CifarCnn model;
  check_value(model, L::CifarCnn(), 32);
  check_learns([] { return L::CifarCnn(); }, {.size = 32, .lr = 0.01});
}

}  // namespace
}  // namespace kusari::testing
