#include "kusari/framework/links/model/image_preparation.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"

namespace kusari::testing {
namespace {

// x[c, y, x] = (37 y + 91 x + 53 c) mod 256.
Array picture(int64_t channels, int64_t height, int64_t width) {
  std::vector<uint8_t> values;
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x) values.push_back(static_cast<uint8_t>(37 * y + 91 * x + 53 * c));
    }
  }
  return array(values, {channels, height, width});
}

using Values = std::vector<double>;

// Expected values: Image.fromarray(picture).resize((3, 6)) of Pillow.
TEST_CASE("prepare resizes as Pillow does, and turns the channels around") {
  const Values expected = {137, 114, 90,  170, 151, 116, 150, 90,  159, 144, 56,  206, 182, 101, 185, 209, 137, 55,
                           68,  203, 118, 108, 119, 82,  144, 114, 93,  178, 158, 127, 189, 153, 163, 153, 68,  203,
                           16,  145, 62,  42,  182, 95,  85,  122, 75,  122, 89,  69,  154, 131, 107, 181, 158, 134};
  const Array image = picture(3, 5, 4);
  for (const Array& form :
       {image, image.transpose({1, 2, 0}), image.transpose({1, 2, 0}).contiguous(), image.astype(Dtype::float32)}) {
    const Array prepared = links::prepare(form, {.bgr = true}, PerAxis{6, 3});
    CHECK(prepared.shape() == Shape{3, 6, 3});
    CHECK(prepared.strides() == Strides{1, 9, 3});
    CHECK(prepared.to_vector<double>() == expected);
  }
}

TEST_CASE("prepare makes three channels of grey, and takes one number for both sides") {
  const Values expected = {61, 100, 83, 128, 103, 121, 106, 59, 132, 82, 162, 115, 182, 135};
  const Array grey = picture(1, 5, 4);
  for (const Array& form : {grey, grey.at(0), grey.transpose({1, 2, 0})}) {
    const Array prepared = links::prepare(form, {}, PerAxis{7, 2});
    CHECK(prepared.shape() == Shape{3, 7, 2});
    for (int64_t c = 0; c < 3; ++c) CHECK(prepared.at(c).to_vector<double>() == expected);
  }
  CHECK(links::prepare(grey, {}, 9).shape() == Shape{3, 9, 9});
  CHECK_THROWS_AS(links::prepare(grey, {}, int64_t{1} << 62), ValueError);
}

TEST_CASE("prepare shifts, scales, drops alpha and keeps the size when told so") {
  const Array rgba = picture(4, 2, 5);
  const links::ImagePreparation preparation = {.bgr = true, .mean = {1, 2, 3}, .deviation = {2, 4, 8}};
  for (const Array& form : {rgba, rgba.transpose({1, 2, 0})}) {
    const Array prepared = links::prepare(form, preparation, std::nullopt);
    CHECK(prepared.shape() == Shape{3, 2, 5});
    for (int64_t c = 0; c < 3; ++c) {
      Values expected = rgba.at(2 - c).to_vector<double>();
      for (double& value : expected) {
        value = (value - preparation.mean[static_cast<size_t>(c)]) / preparation.deviation[static_cast<size_t>(c)];
      }
      CHECK(prepared.at(c).to_vector<double>() == expected);
    }
  }
  const auto half = using_config(&Config::dtype, Dtype::float16);
  CHECK(links::prepare(rgba, {}, std::nullopt).dtype() == Dtype::float16);
}

TEST_CASE("prepare refuses what is no image") {
  CHECK_THROWS_WITH_AS(links::prepare(zeros({2, 5, 7}), {}, 4),
                       "prepare: image has shape (2, 5, 7): it must be (H, W), (H, W, C) or (C, H, W) with 1, 3 or 4 "
                       "channels, and not empty",
                       ValueError);
  CHECK_THROWS_AS(links::prepare(zeros({3, 0, 4}), {}, 4), ValueError);
  CHECK_THROWS_AS(links::prepare(zeros({5}), {}, 4), ValueError);
  CHECK_THROWS_WITH_AS(links::prepare(zeros({3, 4, 4}), {}, PerAxis{4, 0}),
                       "prepare: size is (4, 0): it must be positive", ValueError);
}

}  // namespace
}  // namespace kusari::testing
