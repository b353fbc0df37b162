#include "kusari/framework/functions/array/sample_bilinear.h"

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/threads.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

std::vector<double> sampled_reference(const Array& x, const Array& points) {
  const Shape &s = x.shape(), &p = points.shape();
  const std::vector<double> image = x.to_vector<double>(), at = points.to_vector<double>();
  std::vector<double> y;
  const int64_t count = p[2] * p[3];
  for (int64_t n = 0; n < s[0]; ++n) {
    for (int64_t c = 0; c < s[1]; ++c) {
      for (int64_t i = 0; i < count; ++i) {
        const double u = at[static_cast<size_t>(2 * n * count + i)],
                     v = at[static_cast<size_t>((2 * n + 1) * count + i)];
        // Each pixel counts by its distance: the definition of bilinear interpolation with zeros around.
        double sum = 0;
        for (int64_t k = 0; k < s[2] * s[3]; ++k) {
          const double a = 1 - std::abs(u - static_cast<double>(k % s[3])),
                       b = 1 - std::abs(v - static_cast<double>(k / s[3]));
          if (a > 0 && b > 0) sum += a * b * image[static_cast<size_t>((n * s[1] + c) * s[2] * s[3] + k)];
        }
        y.push_back(sum);
      }
    }
  }
  return y;
}

struct SampleCase {
  Shape x, points;
};
// Points reach over the image's edges; few are near a pixel's centre, where the slope jumps.
const SampleCase kSampleCases[] = {{{2, 3, 4, 5}, {2, 2, 3, 4}}, {{1, 1, 1, 1}, {1, 2, 2, 2}},
                                   {{1, 9, 3, 2}, {1, 2, 5, 1}}, {{2, 0, 3, 3}, {2, 2, 2, 2}},
                                   {{0, 2, 3, 3}, {0, 2, 2, 2}}, {{1, 2, 3, 3}, {1, 2, 0, 2}}};

Array points_for(const SampleCase& c) { return uniform(c.points, -2.5, 6.5, 3); }

TEST_CASE("sample_bilinear and its gradients") {
  for (const SampleCase& c : kSampleCases) {
    CAPTURE(to_string(c.x));
    CAPTURE(to_string(c.points));
    const Shape shape{c.x[0], c.x[1], c.points[2], c.points[3]};
    for (const Dtype dtype : kFloatingDtypes) {
      CAPTURE(name(dtype));
      const Array x = uniform(c.x, -1, 1).astype(dtype);
      const Array points = points_for(c).astype(dtype == Dtype::float64 ? dtype : Dtype::float32);
      for (const Array& given : {x, x.channels_last(), x.transpose().contiguous().transpose()}) {
        const Variable y = F::sample_bilinear(given, points.transpose().contiguous().transpose());
        CHECK(y.dtype() == dtype);
        check_close(y, shape, sampled_reference(x, points), 4);
      }
    }
    check_gradients(F::sample_bilinear, uniform(c.x, -1, 1), points_for(c));
  }
}

TEST_CASE("sample_bilinear's fused gradients are its composite's") {
  for (const Dtype dtype : {Dtype::float32, Dtype::float16}) {
    const Variable x(uniform({2, 70, 4, 5}, -1, 1).astype(dtype)),
        points(points_for(kSampleCases[0]).astype(Dtype::float32));
    const Variable seed(uniform({2, 70, 3, 4}, -1, 1, 5).astype(dtype), false);
    const auto gradients = [&](bool composite) {
      return grad({F::sample_bilinear(x, points)}, {x, points},
                  {.grad_outputs = std::span<const Variable>(&seed, 1), .enable_double_backprop = composite});
    };
    const Variables fused = gradients(false), composite = gradients(true);
    for (size_t i = 0; i < 2; ++i) {
      CHECK(fused[i].dtype() == composite[i].dtype());
      check_close(fused[i], composite[i].shape(), composite[i].to_vector<double>(), 50);
    }
  }
}

TEST_CASE("sample_bilinear at whole numbers, outside and at NaN") {
  const Variable x(array<float>({1, 2, 3, 4}, {1, 1, 2, 2}));
  const Variable points(array<float>({0, 1, 1, -1, 2, 1e30f, NAN, 0, 0, 1, 0, 0, 0, 0}, {1, 2, 1, 7}));
  const Variable y = F::sample_bilinear(x, points);
  const std::vector<float> values = y.to_vector<float>();
  CHECK(std::vector<float>(values.begin(), values.end() - 1) == std::vector<float>{1, 2, 4, 0, 0, 0});
  CHECK(std::isnan(values.back()));
  // On a pixel the slope is that towards the next one; one pixel outside there is none.
  const std::vector<double> slopes = gradient(y, points);
  CHECK(slopes[0] == 1);
  CHECK(slopes[1] == -2);
  CHECK(slopes[3] == 0);
  CHECK(slopes[4] == 0);
}

TEST_CASE("sample_bilinear does not depend on threads or layout") {
  const Array image = uniform({3, 130, 9, 8}, -1, 1).astype(Dtype::float32);
  const Array at = uniform({3, 2, 30, 30}, -2, 10, 3).astype(Dtype::float32);
  const Array gy = uniform({3, 130, 30, 30}, -1, 1, 2).astype(Dtype::float32);
  const int before = num_threads();
  std::vector<double> first;
  for (const int threads : {1, 4}) {
    for (const bool channels_last : {true, false}) {
      set_num_threads(threads);
      const auto layout = using_config(&Config::channels_last, channels_last);
      const Variable x(image), points(at);
      const Variable y = F::sample_bilinear(x, points);
      const Variable seed(gy, false);
      const Variables g = grad({y}, {x, points}, {.grad_outputs = std::span<const Variable>(&seed, 1)});
      std::vector<double> all = y.to_vector<double>();
      for (const Variable& one : g) {
        const std::vector<double> more = one.to_vector<double>();
        all.insert(all.end(), more.begin(), more.end());
      }
      if (first.empty()) first = all;
      CHECK(all == first);
    }
  }
  set_num_threads(before);
}

TEST_CASE("sample_bilinear refuses what does not fit") {
  CHECK_THROWS_WITH_AS(F::sample_bilinear(ones({1, 1, 2, 2}), ones({1, 3, 2, 2})),
                       "F::sample_bilinear: points has shape (1, 3, 2, 2): points.shape[1] must equal 2 (3 != 2)",
                       TypeError);
  CHECK_THROWS_AS(F::sample_bilinear(ones({2, 1, 2, 2}), ones({1, 2, 2, 2})), TypeError);
}

}  // namespace
}  // namespace kusari
