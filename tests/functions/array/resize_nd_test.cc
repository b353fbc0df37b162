#include "kusari/framework/functions/array/resize_nd.h"

#include <cmath>
#include <string>
#include <vector>

#include "kusari/framework/functions/array/resize_images.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;
using Values = std::vector<double>;
using Filter = F::ResizeFilter;
using Coordinates = F::ResizeCoordinates;
using Nearest = F::NearestMode;

/// Twelve numbers, again and again.
Array resized_input(const Shape& shape) {
  const Values numbers = {1, -2, 4, 0.5, 3, -1, 2, 7, 0, 5, -3, 6};
  Values values(static_cast<size_t>(numel(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = numbers[i % numbers.size()];
  return array(values, shape, test_device());
}

struct ResizeNdCase {
  Shape x;
  F::ResizeNdOptions options;
  Shape y;
  Values values;
};

// From onnx.reference.ops.op_resize of onnx 1.22.0 (_interpolate_nd): Resize of opset 19 in float64.
const ResizeNdCase kResizeNdCases[] = {
    // clang-format off
    {{3, 4}, {.sizes = {4, 3}}, {4, 3},
     {0.5, 1, 1.083333333, 1.645833333, 0.6875, 4.260416667, 1.770833333, 0.6875, 5.541666667, 0.8333333333, 1, 4.5}},
    {{4}, {.sizes = {7}, .mode = Filter::cubic}, {7},
     {1.297649417, -0.3912172012, -2.105502915, 1.046875, 4.076895044, 2.061588921, 0.1527423469}},
    {{3, 4}, {.sizes = {4, 3}, .coordinates = Coordinates::half_pixel_symmetric}, {4, 3},
     {0.5, 1, 1.083333333, 1.645833333, 0.6875, 4.260416667, 1.770833333, 0.6875, 5.541666667, 0.8333333333, 1, 4.5}},
    {{4}, {.sizes = {7}, .mode = Filter::cubic, .coordinates = Coordinates::half_pixel_symmetric}, {7},
     {1.297649417, -0.3912172012, -2.105502915, 1.046875, 4.076895044, 2.061588921, 0.1527423469}},
    {{3, 4}, {.sizes = {4, 3}, .coordinates = Coordinates::pytorch_half_pixel}, {4, 3},
     {0.5, 1, 1.083333333, 1.645833333, 0.6875, 4.260416667, 1.770833333, 0.6875, 5.541666667, 0.8333333333, 1, 4.5}},
    {{4}, {.sizes = {7}, .mode = Filter::cubic, .coordinates = Coordinates::pytorch_half_pixel}, {7},
     {1.297649417, -0.3912172012, -2.105502915, 1.046875, 4.076895044, 2.061588921, 0.1527423469}},
    {{3, 4}, {.sizes = {4, 3}, .coordinates = Coordinates::align_corners}, {4, 3},
     {1, 1, 0.5, 2.333333333, 0.6666666667, 4.833333333, 2, 0.6666666667, 6.666666667, 0, 1, 6}},
    {{4}, {.sizes = {7}, .mode = Filter::cubic, .coordinates = Coordinates::align_corners}, {7},
     {1, -1.0625, -2, 1.046875, 4, 2.8125, 0.5}},
    {{3, 4}, {.sizes = {4, 3}, .coordinates = Coordinates::asymmetric}, {4, 3},
     {1, -4.440892099e-16, 1.666666667, 2.5, -3.330669074e-16, 4.416666667, 1.5, 1.166666667, 4.166666667, 0, 2.333333333, 3}},
    {{4}, {.sizes = {7}, .mode = Filter::cubic, .coordinates = Coordinates::asymmetric}, {7},
     {1, -1.370262391, -1.464285714, 2.668367347, 3.732507289, 1.002186589, 0.1326530612}},
    {{4}, {.sizes = {1}}, {1},
     {1}},
    {{4}, {.sizes = {1}, .coordinates = Coordinates::pytorch_half_pixel}, {1},
     {1}},
    {{4}, {.sizes = {1}, .coordinates = Coordinates::align_corners}, {1},
     {1}},
    {{4}, {.sizes = {1}, .coordinates = Coordinates::asymmetric}, {1},
     {1}},
    {{5}, {.scales = {0.75}, .coordinates = Coordinates::half_pixel_symmetric}, {3},
     {-1, 4, 1.333333333}},
    {{5}, {.scales = {1.25}}, {6},
     {1, -1.1, 1, 2.95, 0.75, 2.75}},
    {{5}, {.scales = {1.25}, .coordinates = Coordinates::align_corners}, {6},
     {1, -1.285714286, 1.142857143, 3, 0.619047619, 2.523809524}},
    {{4}, {.sizes = {8}, .mode = Filter::nearest, .nearest_mode = Nearest::round_prefer_floor}, {8},
     {1, 1, -2, -2, 4, 4, 0.5, 0.5}},
    {{5}, {.sizes = {3}, .mode = Filter::nearest, .coordinates = Coordinates::asymmetric, .nearest_mode = Nearest::round_prefer_floor}, {3},
     {1, 4, 0.5}},
    {{4}, {.sizes = {8}, .mode = Filter::nearest, .nearest_mode = Nearest::round_prefer_ceil}, {8},
     {1, 1, -2, -2, 4, 4, 0.5, 0.5}},
    {{5}, {.sizes = {3}, .mode = Filter::nearest, .coordinates = Coordinates::asymmetric, .nearest_mode = Nearest::round_prefer_ceil}, {3},
     {1, 4, 0.5}},
    {{4}, {.sizes = {8}, .mode = Filter::nearest, .nearest_mode = Nearest::floor}, {8},
     {1, 1, 1, -2, -2, 4, 4, 0.5}},
    {{5}, {.sizes = {3}, .mode = Filter::nearest, .coordinates = Coordinates::asymmetric, .nearest_mode = Nearest::floor}, {3},
     {1, -2, 0.5}},
    {{4}, {.sizes = {8}, .mode = Filter::nearest, .nearest_mode = Nearest::ceil}, {8},
     {1, -2, -2, 4, 4, 0.5, 0.5, 0.5}},
    {{5}, {.sizes = {3}, .mode = Filter::nearest, .coordinates = Coordinates::asymmetric, .nearest_mode = Nearest::ceil}, {3},
     {1, 4, 3}},
    {{2, 3}, {.scales = {1.5, 2.5}, .mode = Filter::nearest, .coordinates = Coordinates::align_corners, .nearest_mode = Nearest::floor}, {3, 7},
     {1, 1, 1, 1, -2, -2, -2, 1, 1, 1, 1, -2, -2, -2, 0.5, 0.5, 0.5, 0.5, 3, 3, 3}},
    {{4}, {.sizes = {6}, .mode = Filter::cubic, .cubic_coefficient = -0.5}, {6},
     {1.173611111, -0.875, -1.41087963, 3.445601852, 2.625, 0.2974537037}},
    {{4}, {.sizes = {6}, .mode = Filter::cubic, .exclude_outside = true}, {6},
     {1.304054054, -0.8857142857, -1.338541667, 3.390625, 2.614285714, 0.1452702703}},
    {{4}, {.sizes = {6}, .exclude_outside = true}, {6},
     {1, -0.5, -1, 3, 2.25, 0.5}},
    {{4}, {.sizes = {3}, .mode = Filter::cubic, .coordinates = Coordinates::asymmetric, .exclude_outside = true}, {3},
     {1, -0.25, 1.791666667}},
    {{8}, {.sizes = {3}, .antialias = true}, {3},
     {0.5465116279, 1.583333333, 3.302325581}},
    {{8}, {.sizes = {3}, .mode = Filter::cubic, .antialias = true}, {3},
     {0.5983557822, 1.312778007, 3.170950628}},
    {{8}, {.sizes = {3}, .mode = Filter::cubic, .exclude_outside = true, .antialias = true}, {3},
     {0.5699542127, 1.4107348, 2.900186088}},
    {{4}, {.sizes = {6}, .antialias = true}, {6},
     {1, -0.5, -1, 3, 2.25, 0.5}},
    {{2, 6}, {.scales = {1, 0.625}, .antialias = true}, {2, 3},
     {-0.08, 1.796296296, 1.729166667, 3.8, 2.740740741, 1.166666667}},
    {{5}, {.sizes = {4}, .coordinates = Coordinates::tf_crop_and_resize, .roi = {0.25, 0.9}}, {4},
     {-2, 3.2, 1.433333333, 2}},
    {{5}, {.sizes = {4}, .coordinates = Coordinates::tf_crop_and_resize, .extrapolation_value = 9, .roi = {-0.2, 1.2}}, {4},
     {9, -1.6, 0.7333333333, 9}},
    {{3, 4}, {.sizes = {2, 3}, .coordinates = Coordinates::tf_crop_and_resize, .extrapolation_value = -5, .roi = {0.4, 0.6, 1.2, 0.9}}, {2, 3},
     {1.68, 3.225, 4.71, -5, -5, -5}},
    {{5}, {.sizes = {1}, .coordinates = Coordinates::tf_crop_and_resize, .roi = {0.25, 0.9}}, {1},
     {2.95}},
    {{2, 4, 2}, {.sizes = {3}, .axes = {1}, .mode = Filter::cubic}, {2, 3, 2},
     {1.447916667, -1.615162037, 3.875, -0.765625, 2.126157407, 5.825810185, -0.5, 5.282407407, -1.5625, 1.859375, 3.638888889, 0.002314814815}},
    {{2, 2, 3}, {.sizes = {2, 3}, .axes = {2, 0}}, {3, 2, 2},
     {0.25, 2.5, 1.125, 0, 1.75, 2.125, 2.0625, 1.875, 3.25, 1.75, 3, 3.75}},
    {{1, 1, 3, 4}, {.sizes = {1, 1, 5, 6}}, {1, 1, 5, 6},
     {1, -0.5, -1, 3, 2.25, 0.5, 1.8, 0.1, -0.8, 2.4, 3.15, 3.1, 3, 1, -0.5, 1.5, 4.5, 7, 1.2, 1.9, 2, -0.4, 2.7, 6.4, 0, 2.5, 3.666666667, -1.666666667, 1.5, 6}},
    {{1, 1, 3, 4}, {.sizes = {1, 1, 2, 6}, .coordinates = Coordinates::align_corners}, {1, 1, 2, 6},
     {1, -0.8, -0.8, 2.8, 2.6, 0.5, 0, 3, 3.4, -1.4, 0.6, 6}},
    {{1, 1, 3, 4}, {.scales = {1, 1, 2, 2}, .mode = Filter::nearest, .coordinates = Coordinates::asymmetric, .nearest_mode = Nearest::floor}, {1, 1, 6, 8},
     {1, 1, -2, -2, 4, 4, 0.5, 0.5, 1, 1, -2, -2, 4, 4, 0.5, 0.5, 3, 3, -1, -1, 2, 2, 7, 7, 3, 3, -1, -1, 2, 2, 7, 7, 0, 0, 5, 5, -3, -3, 6, 6, 0, 0, 5, 5, -3, -3, 6, 6}},
    {{1, 2, 2, 3}, {.sizes = {1, 2, 4, 2}, .coordinates = Coordinates::pytorch_half_pixel}, {1, 2, 4, 2},
     {0.25, 2.5, 0.46875, 1.875, 0.90625, 0.625, 1.125, 0, 3.25, 1.75, 3.1875, 2.25, 3.0625, 3.25, 3, 3.75}},
    // clang-format on
};

TEST_CASE("resize_nd gives what ONNX's reference gives") {
  for (size_t i = 0; i < std::size(kResizeNdCases); ++i) {
    CAPTURE(i);
    const ResizeNdCase& c = kResizeNdCases[i];
    const Array x = resized_input(c.x);
    check_close(F::resize_nd(x, c.options), c.y, c.values, 1e5);  // the numbers above have ten digits
    check_close(F::resize_nd(x.transpose().contiguous().transpose(), c.options), c.y, c.values, 1e5);
    for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float32}) {
      const Variable y = F::resize_nd(x.astype(dtype), c.options);
      CHECK(y.dtype() == dtype);
      check_close(y, c.y, c.values, 4);
    }
  }
}

TEST_CASE("resize_nd: tf_half_pixel_for_nn, which ONNX's reference lacks") {
  // Places (i + 0.5) / 0.8.
  const Array x = resized_input({5});
  check_close(F::resize_nd(x, {.sizes = {4}, .coordinates = Coordinates::tf_half_pixel_for_nn}), {4},
              {-0.875, 3.25, 0.8125, 3});
}

TEST_CASE("resize_nd: derivatives") {
  for (size_t i = 0; i < std::size(kResizeNdCases); i += 3) {
    CAPTURE(i);
    const ResizeNdCase& c = kResizeNdCases[i];
    check_gradients([&](const Variable& x) { return F::resize_nd(x, c.options); }, uniform(c.x, -1, 1));
  }
}

TEST_CASE("resize_nd of images takes the pass that resize_images has, with the same result") {
  const Array x = uniform({2, 3, 4, 5}, -1, 1);
  for (const Shape& size : {Shape{7, 3}, Shape{4, 9}, Shape{2, 2}, Shape{8, 10}}) {
    CAPTURE(to_string(size));
    for (const Coordinates coordinates : {Coordinates::half_pixel, Coordinates::align_corners}) {
      const F::ResizeNdOptions options{.sizes = size, .axes = {2, 3}, .coordinates = coordinates};
      const Variable y = F::resize_nd(x, options);
      CHECK(has_image_layout(y.array()));
      // The same along axes that are not those of images.
      const Variable z =
          F::resize_nd(x.reshape({6, 4, 5}), {.sizes = size, .axes = {1, 2}, .coordinates = coordinates});
      check_close(y, {2, 3, size[0], size[1]}, z.to_vector<double>(), 10);
    }
    const F::ResizeNdOptions nearest{.sizes = size,
                                     .axes = {2, 3},
                                     .mode = Filter::nearest,
                                     .coordinates = Coordinates::asymmetric,
                                     .nearest_mode = Nearest::floor};
    CHECK(F::resize_nd(x, nearest).to_vector<double>() ==
          F::resize_images(x, size, {.mode = F::ResizeMode::nearest}).to_vector<double>());
  }
}

TEST_CASE("resize_nd: which one of two elements is the nearest") {
  // From ONNX Runtime 1.32.
  struct Case {
    int64_t size;
    F::ResizeNdOptions options;
    std::vector<int> places;
  };
  const auto options = [](const Shape& sizes, Coordinates coordinates, Nearest nearest) {
    return F::ResizeNdOptions{
        .sizes = sizes, .mode = Filter::nearest, .coordinates = coordinates, .nearest_mode = nearest};
  };
  for (const Case& c :
       {Case{14, options({2}, Coordinates::asymmetric, Nearest::floor), {0, 6}},
        {7, options({2}, Coordinates::asymmetric, Nearest::round_prefer_ceil), {0, 4}},
        {10, options({6}, Coordinates::half_pixel, Nearest::floor), {0, 2, 3, 5, 6, 8}},
        {7, options({17}, Coordinates::half_pixel, Nearest::ceil), {0, 1, 1, 1, 2, 2, 3, 3, 3, 4, 4, 5, 5, 6, 6, 6, 6}},
        {7,
         options({19}, Coordinates::tf_half_pixel_for_nn, Nearest::round_prefer_floor),
         {0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 5, 5, 6, 6, 6, 6}},
        {3, options({11}, Coordinates::half_pixel_symmetric, Nearest::floor), {0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2}},
        {20, options({6}, Coordinates::half_pixel, Nearest::round_prefer_ceil), {1, 5, 8, 11, 15, 18}}}) {
    CAPTURE(c.size);
    CAPTURE(static_cast<int>(c.options.coordinates));
    const Array x = arange(c.size, Dtype::int32, test_device());
    CHECK(F::resize_nd(x, c.options).to_vector<int>() == c.places);
  }
  const Array image = arange(14 * 14, Dtype::float32, test_device()).reshape({1, 1, 14, 14});
  CHECK(F::resize_nd(image, options({1, 1, 2, 2}, Coordinates::asymmetric, Nearest::floor)).to_vector<int>() ==
        std::vector<int>{0, 6, 84, 90});
  // A scale that float32 does not hold.
  F::ResizeNdOptions tiny = options({3}, Coordinates::asymmetric, Nearest::floor);
  tiny.scales = {1e-60};
  CHECK(F::resize_nd(arange(4, Dtype::int32, test_device()), tiny).to_vector<int>() == std::vector<int>{0, 3, 3});
}

TEST_CASE("resize_nd: nearest takes any dtype, and nothing from elsewhere") {
  const Array x = array<int>({1, 2, 3}, test_device());
  const F::ResizeNdOptions twice{.scales = {2}, .mode = Filter::nearest};
  CHECK(F::resize_nd(x, twice).to_vector<int>() == std::vector<int>{1, 1, 2, 2, 3, 3});
  CHECK(F::resize_nd(x, twice).dtype() == Dtype::int32);
  check_close(F::resize_nd(array<float>({INFINITY, 1, NAN}, test_device()), twice), {6},
              {INFINITY, INFINITY, 1, 1, NAN, NAN});
}

TEST_CASE("resize_nd: sizes beside scales say how many, scales where") {
  const Array x = array<double>({0, 1, 2, 3}, test_device());
  // x at (i + 1/2) / 1.5 - 1/2, as often as there are places.
  check_close(F::resize_nd(x, {.sizes = {3}, .scales = {1.5}}), {3}, {0, 0.5, 2.5 / 1.5 - 0.5});
  CHECK(F::resize_nd(x, {.sizes = {4}}).shape() == Shape{4});
  check_close(F::resize_nd(x, {.scales = {1}}), {4}, {0, 1, 2, 3});
  CHECK(F::resize_nd(zeros({0, 3}), {.sizes = {6}, .axes = {1}}).shape() == Shape{0, 6});
}

TEST_CASE("resize_nd says what does not fit") {
  const Array x = zeros({2, 3});
  CHECK_THROWS_WITH_AS(F::resize_nd(x, {}), "F::resize_nd: neither sizes nor scales are given: one of them is required",
                       ValueError);
  CHECK_THROWS_WITH_AS(F::resize_nd(x, {.sizes = {4}}),
                       "F::resize_nd: sizes has 1 numbers but 2 axes are resized: it must have 2", ValueError);
  CHECK_THROWS_WITH_AS(F::resize_nd(x, {.scales = {2}}),
                       "F::resize_nd: scales has 1 numbers but 2 axes are resized: it must have 2", ValueError);
  CHECK_THROWS_WITH_AS(F::resize_nd(x, {.sizes = {4, 0}}),
                       "F::resize_nd: a new size is 0 but x has shape (2, 3): it must be at least 1", ValueError);
  CHECK_THROWS_WITH_AS(F::resize_nd(x, {.scales = {2, -1}}),
                       "F::resize_nd: a scale is -1: it must be positive and finite", ValueError);
  CHECK_THROWS_WITH_AS(F::resize_nd(zeros({0}), {.sizes = {4}}),
                       "F::resize_nd: axis is 0 but x has shape (0,): it has no elements to resize", ValueError);
  CHECK_THROWS_WITH_AS(
      F::resize_nd(x, {.sizes = {4, 4}, .coordinates = Coordinates::tf_crop_and_resize, .roi = {0, 1}}),
      "F::resize_nd: roi has 2 numbers but 2 axes are resized: it must have 4", ValueError);
  CHECK_THROWS_WITH_AS(F::resize_nd(int_ones({2}), {.sizes = {4}}),
                       "F::resize_nd: x has dtype int64: x.dtype must be floating", TypeError);
  CHECK_THROWS_AS(F::resize_nd(x, {.sizes = {4}, .axes = {2}}), IndexError);
  CHECK_THROWS_AS(F::resize_nd(x, {.sizes = {4, 4}, .axes = {1, -1}}), ValueError);
}

}  // namespace
}  // namespace kusari
