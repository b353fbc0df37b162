#include "kusari/framework/functions/array/resize_images.h"

#include <algorithm>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/threads.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

struct ResizeCase {
  Shape x;
  Dims size;
  F::ResizeImagesOptions options;
};

const F::ResizeImagesOptions kEdges{.align_corners = false}, kNearest{.mode = F::ResizeMode::nearest};
const ResizeCase kResizeCases[] = {
    {{2, 3, 4, 5}, {7, 3}, {}},      {{2, 3, 4, 5}, {7, 3}, kEdges},   {{2, 3, 4, 5}, {7, 3}, kNearest},
    {{1, 1, 3, 3}, {1, 1}, {}},      {{1, 5, 1, 1}, {3, 2}, {}},       {{1, 1, 1, 1}, {3, 2}, kEdges},
    {{1, 2, 6, 7}, {2, 14}, kEdges}, {{1, 2, 6, 7}, {9, 4}, kNearest}, {{0, 2, 3, 3}, {2, 2}, {}},
    {{1, 0, 3, 3}, {2, 2}, {}},      {{1, 17, 5, 4}, {5, 4}, {}}};

// Where new pixel i of `out` lies along `in` pixels.
double place(int64_t i, int64_t in, int64_t out, const F::ResizeImagesOptions& options) {
  const double ratio = static_cast<double>(in) / static_cast<double>(out), at = static_cast<double>(i);
  if (options.mode == F::ResizeMode::nearest) return std::floor(at * ratio);
  if (!options.align_corners) return std::clamp((at + 0.5) * ratio - 0.5, 0.0, static_cast<double>(in - 1));
  return out == 1 ? 0 : at * static_cast<double>(in - 1) / static_cast<double>(out - 1);
}

std::vector<double> resized_reference(const ResizeCase& c, const std::vector<double>& x) {
  std::vector<double> y;
  const int64_t h = c.x[2], w = c.x[3];
  for (int64_t image = 0; image < c.x[0] * c.x[1]; ++image) {
    const auto pixel = [&](int64_t i, int64_t j) {
      return x[static_cast<size_t>((image * h + std::min(i, h - 1)) * w + std::min(j, w - 1))];
    };
    for (int64_t p = 0; p < c.size[0] * c.size[1]; ++p) {
      const double v = place(p / c.size[1], h, c.size[0], c.options), u = place(p % c.size[1], w, c.size[1], c.options);
      const auto i = static_cast<int64_t>(v), j = static_cast<int64_t>(u);
      const double a = v - static_cast<double>(i), b = u - static_cast<double>(j);
      y.push_back((1 - a) * ((1 - b) * pixel(i, j) + b * pixel(i, j + 1)) +
                  a * ((1 - b) * pixel(i + 1, j) + b * pixel(i + 1, j + 1)));
    }
  }
  return y;
}

TEST_CASE("resize_images and its gradients") {
  for (const ResizeCase& c : kResizeCases) {
    CAPTURE(to_string(c.x));
    CAPTURE(to_string(c.size));
    CAPTURE(c.options.align_corners);
    const auto resize = [&](const Variable& x) { return F::resize_images(x, c.size, c.options); };
    const Shape shape{c.x[0], c.x[1], c.size[0], c.size[1]};
    for (const Dtype dtype : kFloatingDtypes) {
      CAPTURE(name(dtype));
      const Array x = uniform(c.x, -1, 1).astype(dtype);
      const std::vector<double> expected = resized_reference(c, x.to_vector<double>());
      for (const Array& given : {x, x.channels_last(), x.transpose().contiguous().transpose()}) {
        const Variable y = resize(given);
        CHECK(y.dtype() == dtype);
        check_close(y, shape, expected, 2);
      }
    }
    check_gradients(resize, uniform(c.x, -1, 1));
  }
}

TEST_CASE("resize_images keeps what it does not mix") {
  const Array x = array<float>({1, INFINITY, 2, 3}, {1, 1, 2, 2});
  CHECK(F::resize_images(x, {2, 2}).to_vector<float>() == x.to_vector<float>());
  CHECK(F::resize_images(x, {4, 4}, kNearest).to_vector<float>() ==
        std::vector<float>{1, 1, INFINITY, INFINITY, 1, 1, INFINITY, INFINITY, 2, 2, 3, 3, 2, 2, 3, 3});
}

TEST_CASE("resize_images takes the pixel on which a place is exactly") {
  // 49 * (2 / 98) is less than 1 in float64.
  Variable y = F::resize_images(array<float>({1, 2, 3, 4}, {1, 1, 2, 2}), {2, 98}, kNearest);
  CHECK(y.array().slice(3, 48, 2).to_vector<float>() == std::vector<float>{1, 2, 3, 4});
}

TEST_CASE("resize_images does not depend on threads or layout") {
  const Array x = uniform({3, 19, 40, 33}, -1, 1).astype(Dtype::float32), gy = uniform({3, 19, 61, 25}, -1, 1, 2);
  const int before = num_threads();
  std::vector<double> values, gradients;
  for (const int threads : {1, 4}) {
    for (const bool channels_last : {true, false}) {
      set_num_threads(threads);
      const auto layout = using_config(&Config::channels_last, channels_last);
      const Variable v(x);
      const Variable y = F::resize_images(v, {61, 25});
      const std::vector<double> g = gradient(y, v, gy.astype(Dtype::float32));
      if (values.empty()) {
        values = y.to_vector<double>();
        gradients = g;
      }
      CHECK(y.to_vector<double>() == values);
      CHECK(g == gradients);
    }
  }
  set_num_threads(before);
}

TEST_CASE("resize_images refuses what does not fit") {
  CHECK_THROWS_WITH_AS(F::resize_images(ones({1, 1, 2, 2}), {2, 0}),
                       "F::resize_images: output_shape is (2, 0): it must be a positive height and a positive width",
                       ValueError);
  CHECK_THROWS_AS(F::resize_images(ones({1, 1, 2, 2}), {2}), ValueError);
  CHECK_THROWS_WITH_AS(F::resize_images(ones({1, 1, 0, 2}), {2, 2}),
                       "F::resize_images: x has shape (1, 1, 0, 2): x.shape[2] must be greater than 0 (0 <= 0)",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::resize_images(int_ones({1, 1, 2, 2}), {2, 2}),
                       "F::resize_images: x has dtype int64: x.dtype must be floating", TypeError);
}

}  // namespace
}  // namespace kusari
