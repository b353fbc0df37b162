#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>

#include "kusari/framework/functions/pooling/roi_average_align_2d.h"
#include "kusari/framework/functions/pooling/roi_average_pooling_2d.h"
#include "kusari/framework/functions/pooling/roi_max_align_2d.h"
#include "kusari/framework/functions/pooling/roi_max_pooling_2d.h"
#include "kusari/framework/functions/pooling/roi_pooling_2d.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

constexpr double kLeast = -std::numeric_limits<double>::infinity();

struct Image {
  std::vector<double> values;
  Shape shape;
  double at(int64_t n, int64_t c, int64_t h, int64_t w) const {
    return values[static_cast<size_t>(((n * shape[1] + c) * shape[2] + h) * shape[3] + w)];
  }
};

/// Regions inside, across and outside the borders of a 6 x 8 image, one without an area.
const std::vector<double> kRois = {0,  0,  5,  7,  1,  2,  4, 4, -3, -2, 3,   9,   4,   6,
                                   30, 20, 40, 40, 50, 50, 3, 5, 1,  2,  2.2, 1.4, 4.7, 6.1};
const std::vector<int64_t> kImages = {0, 1, 1, 0, 1, 0, 0};

/// Samples of pooling and of align, by the definitions: body(region, bin row, bin column, list of values) per channel.
template <class Body>
void for_each_bin(const Image& x, bool align, int64_t bins_h, int64_t bins_w, double scale, int64_t ratio,
                  const Body& body) {
  for (size_t r = 0; r < kImages.size(); ++r) {
    double y0 = kRois[4 * r] * scale, x0 = kRois[4 * r + 1] * scale;
    double y1 = kRois[4 * r + 2] * scale, x1 = kRois[4 * r + 3] * scale;
    if (!align) {
      y0 = std::nearbyint(y0), x0 = std::nearbyint(x0), y1 = std::nearbyint(y1), x1 = std::nearbyint(x1);
    }
    const double height = std::max(y1 - y0, 1.0) / static_cast<double>(bins_h);
    const double width = std::max(x1 - x0, 1.0) / static_cast<double>(bins_w);
    for (int64_t c = 0; c < x.shape[1]; ++c) {
      for (int64_t i = 0; i < bins_h; ++i) {
        for (int64_t j = 0; j < bins_w; ++j) {
          std::vector<double> samples;
          double all = 0;
          if (align) {
            const int64_t rows = ratio > 0 ? ratio : static_cast<int64_t>(std::ceil(height));
            const int64_t columns = ratio > 0 ? ratio : static_cast<int64_t>(std::ceil(width));
            all = static_cast<double>(rows * columns);
            for (int64_t a = 0; a < rows; ++a) {
              for (int64_t b = 0; b < columns; ++b) {
                double h =
                    y0 + (static_cast<double>(i) + (static_cast<double>(a) + 0.5) / static_cast<double>(rows)) * height;
                double w =
                    x0 +
                    (static_cast<double>(j) + (static_cast<double>(b) + 0.5) / static_cast<double>(columns)) * width;
                if (h < -1 || h > static_cast<double>(x.shape[2]) || w < -1 || w > static_cast<double>(x.shape[3]))
                  continue;
                h = std::clamp(h, 0.0, static_cast<double>(x.shape[2] - 1));  // a border reaches one pixel out
                w = std::clamp(w, 0.0, static_cast<double>(x.shape[3] - 1));
                double value = 0;
                for (int64_t p = 0; p < x.shape[2]; ++p) {
                  for (int64_t q = 0; q < x.shape[3]; ++q) {
                    value += std::max(0.0, 1 - std::abs(h - static_cast<double>(p))) *
                             std::max(0.0, 1 - std::abs(w - static_cast<double>(q))) * x.at(kImages[r], c, p, q);
                  }
                }
                samples.push_back(value);
              }
            }
          } else {
            for (int64_t p = 0; p < x.shape[2]; ++p) {
              for (int64_t q = 0; q < x.shape[3]; ++q) {
                const double h = static_cast<double>(p) - y0, w = static_cast<double>(q) - x0;
                const double di = static_cast<double>(i), dj = static_cast<double>(j);
                if (h < std::floor(di * height) || h >= std::ceil((di + 1) * height)) continue;
                if (w < std::floor(dj * width) || w >= std::ceil((dj + 1) * width)) continue;
                samples.push_back(x.at(kImages[r], c, p, q));
              }
            }
            all = static_cast<double>(samples.size());
          }
          body(samples, all);
        }
      }
    }
  }
}

double largest(const std::vector<double>& samples) {
  double best = kLeast;
  for (const double sample : samples) best = std::max(best, sample);
  return best;
}
double total(const std::vector<double>& samples) {
  double sum = 0;
  for (const double sample : samples) sum += sample;
  return sum;
}

struct Inputs {
  Array x = uniform({2, 5, 6, 8}, -1, 1);
  Array rois = array(kRois, {7, 4}, test_device());
  Array indices = array(kImages, {7}, test_device());
};

TEST_CASE("pooling of regions of interest") {
  const Inputs in;
  const Image image{in.x.to_vector<double>(), in.x.shape()};
  for (const double scale : {1.0, 0.5, 0.73}) {
    CAPTURE(scale);
    std::vector<double> maxima, means;
    for_each_bin(image, false, 3, 2, scale, 0, [&](const std::vector<double>& samples, double all) {
      maxima.push_back(largest(samples));
      means.push_back(samples.empty() ? 0 : total(samples) / all);
    });
    for (const Array& x : {in.x, in.x.channels_last()}) {
      check_close(F::roi_max_pooling_2d(x, in.rois, in.indices, {3, 2}, scale), {7, 5, 3, 2}, maxima);
      check_close(F::roi_average_pooling_2d(x, in.rois, in.indices, {3, 2}, scale), {7, 5, 3, 2}, means);
    }
  }
}

TEST_CASE("align of regions of interest") {
  const Inputs in;
  const Image image{in.x.to_vector<double>(), in.x.shape()};
  for (const double scale : {1.0, 0.5, 0.73}) {
    for (const int64_t ratio : {0, 1, 3}) {
      CAPTURE(scale);
      CAPTURE(ratio);
      std::vector<double> maxima, means;
      for_each_bin(image, true, 2, 3, scale, ratio, [&](const std::vector<double>& samples, double all) {
        maxima.push_back(largest(samples));
        means.push_back(total(samples) / all);
      });
      for (const Array& x : {in.x, in.x.channels_last()}) {
        check_close(F::roi_max_align_2d(x, in.rois, in.indices, {2, 3}, scale, ratio), {7, 5, 2, 3}, maxima);
        check_close(F::roi_average_align_2d(x, in.rois, in.indices, {2, 3}, scale, ratio), {7, 5, 2, 3}, means);
      }
    }
  }
}

TEST_CASE("regions of interest in every floating dtype") {
  const Inputs in;
  const Variable expected = F::roi_average_align_2d(in.x, in.rois, in.indices, 2, 0.5);
  for (const Dtype dtype : kFloatingDtypes) {
    const Variable y = F::roi_average_align_2d(in.x.astype(dtype), in.rois.astype(dtype), in.indices, 2, 0.5);
    CHECK(y.dtype() == dtype);
    CHECK(has_image_layout(y.array()));
    check_close(y, expected.shape(), expected.to_vector<double>(), 8);
  }
}

TEST_CASE("16-bit images may have regions of interest in float32") {
  // Column 2051 is no float16.
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16}) {
    std::vector<double> row(2056);
    row[2051] = 8;
    const Variable image(array<double>(row, {1, 1, 1, 2056}).astype(dtype).to_device(test_device()));
    const Variable rois(array<float>({0, 2051, 0, 2051}, {1, 4}, test_device()), false);
    const Variable indices(array<int32_t>({0}, test_device()), false);
    const Variable y = F::roi_max_pooling_2d(image, rois, indices, 1, 1.0);
    CHECK(y.dtype() == dtype);
    CHECK(y.to_vector<double>()[0] == 8);
    y.backward();
    CHECK(image.grad().to_vector<double>()[2051] == 1);
  }
}

TEST_CASE("roi_pooling_2d includes the last pixel") {
  const Array x = arange(16, Dtype::float32, test_device()).reshape({1, 1, 4, 4});
  const auto pool = [&](std::initializer_list<float> row, int64_t outh, int64_t outw, double scale = 1) {
    return F::roi_pooling_2d(x, array<float>(row, {1, 5}, test_device()),
                             {.outh = outh, .outw = outw, .spatial_scale = scale});
  };
  check_close(pool({0, 0, 0, 1, 2}, 1, 1), {1, 1, 1, 1}, {9});
  check_close(pool({0, 0, 0, 3, 3}, 2, 2), {1, 1, 2, 2}, {5, 7, 13, 15});
  check_close(pool({0, 1, 0, 3, 2}, 3, 1), {1, 1, 3, 1}, {3, 7, 11});
  check_close(pool({0, 2, 2, 6, 6}, 1, 1, 0.5), {1, 1, 1, 1}, {15});
  check_close(pool({0, 9, 9, 12, 12}, 1, 2), {1, 1, 1, 2}, {0, 0});
}

TEST_CASE("gradients of regions of interest") {
  const Inputs in;
  for (const Array& x : {in.x, in.x.channels_last()}) {
    const auto check = [&](auto&& function) {
      CHECK_NOTHROW(gradient_check::check_backward(function, Arrays(x), {}, {.atol = 1e-5, .rtol = 1e-4}));
      CHECK_NOTHROW(gradient_check::check_double_backward(function, Arrays(x), {}, {}, {.atol = 1e-4, .rtol = 1e-3}));
    };
    check([&](const Variable& v) { return F::roi_average_pooling_2d(v, in.rois, in.indices, 2, 0.8); });
    check([&](const Variable& v) { return F::roi_average_align_2d(v, in.rois, in.indices, {3, 2}, 0.8); });
    // Without the regions that reach outside the image, where maxima are not finite.
    const Array rois = in.rois.slice(0, 0, 2), indices = in.indices.slice(0, 0, 2);
    check([&](const Variable& v) { return F::roi_max_pooling_2d(v, rois, indices, 2, 1); });
    check([&](const Variable& v) { return F::roi_max_align_2d(v, rois, indices, {2, 1}, 1); });
    const Array rows = array<double>({0, 0, 0, 5, 4, 1, 2, 1, 7, 5, 1, 30, 30, 31, 31}, {3, 5}, test_device());
    check([&](const Variable& v) { return F::roi_pooling_2d(v, rows, {.outh = 2, .outw = 3}); });
  }
}

TEST_CASE("regions of interest that do not fit") {
  const Inputs in;
  CHECK_THROWS_WITH_AS(F::roi_max_pooling_2d(in.x, in.rois.astype(Dtype::float32), in.indices, 2, 1),
                       "F::roi_max_pooling_2d: x has dtype float64 but rois has dtype float32: x.dtype must equal "
                       "rois.dtype (float64 != float32)",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::roi_average_align_2d(in.x, in.rois, zeros({3}, Dtype::int32, test_device()), 2, 1),
                       "F::roi_average_align_2d: rois has shape (7, 4) but roi_indices has shape (3,): rois.shape[0] "
                       "must equal roi_indices.shape[0] (7 != 3)",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::roi_average_pooling_2d(in.x, in.rois, in.indices, {2, 0}, 1),
                       "F::roi_average_pooling_2d: outsize is (2, 0): it must be at least 1", ValueError);
  CHECK_THROWS_WITH_AS(F::roi_max_align_2d(in.x, in.rois, in.indices, 2, 0),
                       "F::roi_max_align_2d: spatial_scale is 0: it must be positive", ValueError);
  CHECK_THROWS_WITH_AS(F::roi_max_align_2d(in.x, in.rois, in.indices, 2, 1, -1),
                       "F::roi_max_align_2d: sampling_ratio is (-1, -1): it must be at least 1, or 0 for one per pixel",
                       ValueError);
  CHECK_THROWS_WITH_AS(F::roi_pooling_2d(in.x, in.rois, {.outh = 1, .outw = 1}),
                       "F::roi_pooling_2d: rois has shape (7, 4): rois.shape[1] must equal 5 (4 != 5)", TypeError);
  CHECK(F::roi_max_pooling_2d(in.x, zeros({0, 4}, Dtype::float64, test_device()),
                              zeros({0}, Dtype::int32, test_device()), 2, 1)
            .shape() == Shape{0, 5, 2, 2});
  if (!test_device().is_cpu()) return;  // which cannot throw
  CHECK_THROWS_WITH_AS(F::roi_max_pooling_2d(in.x, in.rois, array<int32_t>({0, 1, 1, 0, 1, 2, 0}), 2, 1),
                       "F::roi_max_pooling_2d: roi_indices[5] is 2 but x has 2 images", IndexError);
  const Array bad = array<double>({0, 0, std::nan(""), 1}, {1, 4});
  CHECK_THROWS_WITH_AS(F::roi_max_pooling_2d(in.x, bad, zeros({1}, Dtype::int32), 2, 1),
                       "F::roi_max_pooling_2d: rois[0] has a corner that is not finite", ValueError);
}

TEST_CASE("align takes no more samples than can be computed") {
  const Variable x = ones({1, 1, 4, 4}, Dtype::float32, test_device());
  const Variable rois = array<float>({0, 0, 3, 3}, {1, 4}, test_device());
  const Variable indices = zeros({1}, Dtype::int32, test_device());
  for (const int64_t ratio : {int64_t{1025}, int64_t{1'000'000}, INT64_MAX}) {
    CHECK_THROWS_AS(F::roi_average_align_2d(x, rois, indices, 2, 1.0, ratio), ValueError);
    CHECK_THROWS_AS(F::roi_max_align_2d(x, rois, indices, 2, 1.0, {1, ratio}), ValueError);
  }
  CHECK(F::roi_average_align_2d(x, rois, indices, 2, 1.0, 1024).shape() == Shape{1, 1, 2, 2});
  check_close(F::roi_average_align_2d(x, rois, indices, 2, 1.0, 64), {1, 1, 2, 2}, {1, 1, 1, 1}, 100);
  if (!test_device().is_cpu()) return;
  const Variable vast = array<float>({0, 0, 1e9f, 3}, {1, 4});
  CHECK_THROWS_WITH_AS(F::roi_average_align_2d(x, vast, indices, 2, 1.0),
                       "F::roi_average_align_2d: rois[0] is longer than 16384 pixels for each bin: sampling_ratio must "
                       "say how many samples to take",
                       ValueError);
  CHECK(F::roi_average_align_2d(x, vast, indices, 2, 1.0, 2).shape() == Shape{1, 1, 2, 2});
}

}  // namespace
}  // namespace kusari
