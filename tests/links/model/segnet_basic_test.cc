#include "kusari/framework/links/model/segnet_basic.h"

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/math/minmax.h"
#include "kusari/tests/links/model/vision_testing.h"

namespace kusari::testing {
namespace {

// Counted by the paper's table: 7x7 kernels without bias.
TEST_CASE("SegNetBasic has ChainerCV's parameters and scores each pixel") {
  L::SegNetBasic model(11);
  // Sizes that are no multiples of 16 come back too.
  for (const auto& [height, width] : {std::pair<int64_t, int64_t>{32, 48}, {37, 21}, {1, 1}}) {
    const Variable x(uniform({2, 3, height, width}, 0, 255).astype(Dtype::float32), false);
    CHECK(model(x).shape() == Shape{2, 11, height, width});
  }
  CHECK(model.count_params() == 3 * 64 * 49 + 7 * 64 * 64 * 49 + 8 * 128 + 64 * 11 + 11);
  CHECK(model.param("/conv_decode4/W").shape() == Shape{64, 64, 7, 7});
  CHECK(model.param("/conv4_bn/beta").array().to_vector<float>()[5] == 0.001F);
  CHECK_THROWS_AS(L::SegNetBasic(0), ValueError);
}

TEST_CASE("SegNetBasic::predict gives each image its classes") {
  L::SegNetBasic model(4);
  std::vector<Array> images;
  for (int i = 0; i < 4; ++i) {
    const Shape shape{3, 24, i == 2 ? 20 : 16};
    images.push_back(
        uniform(shape, 0, 255, static_cast<uint64_t>(i)).astype(i % 2 == 0 ? Dtype::uint8 : Dtype::float32));
  }
  const std::vector<Array> labels = model.predict(images);
  REQUIRE(labels.size() == 4);
  const auto test_mode = using_config(&Config::train, false);
  for (size_t i = 0; i < images.size(); ++i) {
    const Array x = images[i].astype(Dtype::float32).reshape({1, 3, 24, images[i].shape(2)});
    const Array best = functions::argmax(model(Variable(x, false)), 1).array();
    CHECK(labels[i].dtype() == Dtype::int32);
    CHECK(labels[i].shape() == Shape{24, images[i].shape(2)});
    CHECK(labels[i].to_vector<int>() == best.to_vector<int>());
  }
  CHECK(model.predict({}).empty());
  CHECK_THROWS_WITH_AS(model.predict({zeros({24, 16})}),
                       "L::SegNetBasic::predict: images[0] has shape (24, 16): it must be (C, H, W)", TypeError);
}

}  // namespace
}  // namespace kusari::testing
