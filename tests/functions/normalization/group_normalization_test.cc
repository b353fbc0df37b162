#include "kusari/framework/functions/normalization/group_normalization.h"

#include <cmath>
#include <vector>

#include "kusari/framework/core/threads.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;
using Values = std::vector<double>;

/// The formula, in C order.
Values group_reference(const Array& x, int64_t groups, const Array& gamma, const Array& beta, double eps) {
  const Values v = x.to_vector<double>(), g = gamma.to_vector<double>(), b = beta.to_vector<double>();
  const int64_t n = x.shape()[0], channels = x.shape()[1], pixels = n * channels == 0 ? 0 : x.size() / (n * channels);
  const int64_t size = channels / groups * pixels;
  Values y(v.size());
  for (int64_t row = 0; row < n * groups; ++row) {
    double mean = 0, variance = 0;
    const auto at = [&](int64_t i) { return static_cast<size_t>(row * size + i); };
    for (int64_t i = 0; i < size; ++i) mean += v[at(i)] / static_cast<double>(size);
    for (int64_t i = 0; i < size; ++i) variance += (v[at(i)] - mean) * (v[at(i)] - mean) / static_cast<double>(size);
    for (int64_t i = 0; i < size; ++i) {
      const auto c = static_cast<size_t>((row * size + i) / pixels % channels);
      y[at(i)] = g[c] * (v[at(i)] - mean) / std::sqrt(variance + eps) + b[c];
    }
  }
  return y;
}

/// The same elements with the channels innermost in memory.
Array with_channels_last(const Array& x) {
  const Array y = empty_strided(x.shape(), channels_last_strides(x.shape()), x.dtype(), test_device());
  y.copy_from(x);
  return y;
}

struct GroupCase {
  Shape shape;
  int64_t groups;
};
const GroupCase kGroupCases[] = {{{2, 6, 3, 5}, 3},    {{3, 4, 2, 2}, 1},    {{2, 5, 7}, 5},
                                 {{4, 6}, 2},          {{4, 6}, 6},          {{1, 48, 9, 9}, 4},
                                 {{2, 3, 2, 3, 2}, 3}, {{2, 40, 30, 31}, 8}, {{70, 33, 3, 3}, 11}};

TEST_CASE("group_normalization: the formula, whatever the dtype and the order in memory") {
  for (const GroupCase& c : kGroupCases) {
    CAPTURE(to_string(c.shape));
    CAPTURE(c.groups);
    const int64_t channels = c.shape[1];
    for (const Dtype dtype : kFloatingDtypes) {
      CAPTURE(name(dtype));
      const Array x = uniform(c.shape, -1, 2).astype(dtype), gamma = uniform({channels}, 0.5, 1.5, 2).astype(dtype);
      const Array beta = uniform({channels}, -1, 1, 3).astype(dtype);
      const Values expected = group_reference(x, c.groups, gamma, beta, 1e-5);
      const Variable y = F::group_normalization(x, c.groups, gamma, beta);
      CHECK(y.dtype() == dtype);
      check_close(y, c.shape, expected, 4);
      check_close(F::group_normalization(x.transpose().contiguous().transpose(), c.groups, gamma, beta), c.shape,
                  expected, 4);
      if (c.shape.ndim() > 2) {
        const Variable z = F::group_normalization(with_channels_last(x), c.groups, gamma, beta);
        CHECK(has_image_layout(z.array()));
        // A GPU sums channels-last groups in another order.
        if (test_device().is_cpu()) CHECK(z.to_vector<double>() == y.to_vector<double>());
        check_close(z, c.shape, expected, 4);
      }
    }
  }
}

TEST_CASE("group_normalization: half x beside float32 parameters") {
  const Array x = uniform({2, 4, 3}, -1, 1).astype(Dtype::float16), gamma = uniform({4}, 1, 2).astype(Dtype::float32);
  const Variable vx(x), vgamma(gamma), vbeta(gamma);
  const Variable y = F::group_normalization(vx, 2, vgamma, vbeta, 0.1);
  CHECK(y.dtype() == Dtype::float16);
  check_close(y, x.shape(), group_reference(x, 2, gamma, gamma, 0.1), 2);
  const Variables g = grad({y}, {vx, vgamma, vbeta}, {});
  CHECK(g[0].dtype() == Dtype::float16);
  CHECK(g[1].dtype() == Dtype::float32);
}

TEST_CASE("group_normalization keeps small differences beside a large mean") {
  const Array small = uniform({2, 8, 40, 40}, -1, 1).astype(Dtype::float32);
  const Array gamma = ones({8}, Dtype::float32, test_device()), beta = zeros({8}, Dtype::float32, test_device());
  const Array x = empty_like(small);
  std::vector<float> values = small.to_vector<float>();
  for (float& v : values) v += 4096;  // what float32 holds beside 4096 is exact in the statistics
  x.copy_from(array(values, x.shape(), test_device()));
  check_close(F::group_normalization(x, 2, gamma, beta), x.shape(), group_reference(x, 2, gamma, beta, 1e-5), 4);
  const Array constant = full({2, 4, 5, 5}, 12345.678, Dtype::float32, test_device());
  for (const float v : F::group_normalization(constant, 2, ones({4}, Dtype::float32, test_device()),
                                              zeros({4}, Dtype::float32, test_device()))
                           .to_vector<float>())
    CHECK(v == 0);
}

Values group_gradients(const Array& x, int64_t groups, bool record) {
  const Array gamma = uniform({x.shape()[1]}, 0.5, 1.5, 2).astype(x.dtype());
  const Variable vx(x), vgamma(gamma), vbeta(gamma.copy());
  const Variable y = F::group_normalization(vx, groups, vgamma, vbeta);
  const Variable seed(uniform(x.shape(), -1, 1, 5).astype(x.dtype()), false);
  const Variables g = grad({y}, {vx, vgamma, vbeta},
                           {.grad_outputs = std::span<const Variable>(&seed, 1), .enable_double_backprop = record});
  Values all;
  for (const Variable& v : g) {
    for (const double value : v.to_vector<double>()) all.push_back(value);
  }
  return all;
}

TEST_CASE("group_normalization: first and second derivatives, fused and composed") {
  for (const GroupCase& c : kGroupCases) {
    if (numel(c.shape) > 5000) continue;
    CAPTURE(to_string(c.shape));
    const int64_t channels = c.shape[1];
    const auto function = [&](const Variable& x, const Variable& gamma, const Variable& beta) {
      return F::group_normalization(x, c.groups, gamma, beta, 0.05);
    };
    const Array x = uniform(c.shape, -1, 2), gamma = uniform({channels}, 0.5, 1.5, 2),
                beta = uniform({channels}, -1, 1);
    check_gradients(function, x, gamma, beta);
  }
  for (const GroupCase& c : kGroupCases) {
    CAPTURE(to_string(c.shape));
    for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
      const Array x = uniform(c.shape, -1, 2).astype(dtype);
      const Values fused = group_gradients(x, c.groups, false), composed = group_gradients(x, c.groups, true);
      const auto check_near = [&](const Values& a, const Values& b) {
        REQUIRE(a.size() == b.size());
        for (size_t i = 0; i < a.size(); ++i) {
          CHECK(a[i] == doctest::Approx(b[i]).epsilon(dtype == Dtype::float64 ? 1e-11 : 2e-4).scale(10));
        }
      };
      check_near(fused, composed);
      if (c.shape.ndim() == 2) continue;
      const Values last = group_gradients(with_channels_last(x), c.groups, false);
      if (test_device().is_cpu()) CHECK(last == fused);
      check_near(last, fused);
    }
  }
}

TEST_CASE("group_normalization gives the same bits for any number of threads") {
  const int threads = num_threads();
  for (const GroupCase& c : kGroupCases) {
    const Array x = uniform(c.shape, -1, 2).astype(Dtype::float32),
                ones_c = ones({c.shape[1]}, Dtype::float32, test_device());
    set_num_threads(1);
    const Values y = F::group_normalization(x, c.groups, ones_c, ones_c).to_vector<double>();
    const Values g = group_gradients(x, c.groups, false);
    set_num_threads(3);
    CHECK(F::group_normalization(x, c.groups, ones_c, ones_c).to_vector<double>() == y);
    CHECK(group_gradients(x, c.groups, false) == g);
  }
  set_num_threads(threads);
}

TEST_CASE("group_normalization of nothing") {
  for (const Shape& shape : {Shape{0, 4, 3, 3}, {2, 4, 0, 3}, {0, 4}}) {
    CAPTURE(to_string(shape));
    const Variable x(zeros(shape, Dtype::float32, test_device())), gamma(ones({4}, Dtype::float32, test_device())),
        beta(ones({4}, Dtype::float32, test_device()));
    const Variable y = F::group_normalization(x, 2, gamma, beta);
    CHECK(y.shape() == shape);
    for (const bool record : {false, true}) {
      const Variables g = grad({y}, {x, gamma, beta}, {.enable_double_backprop = record});
      CHECK(g[0].shape() == shape);
      CHECK(g[1].to_vector<double>() == Values(4, 0));
      CHECK(g[2].to_vector<double>() == Values(4, 0));
    }
  }
}

TEST_CASE("group_normalization says what does not fit") {
  const Variable x(zeros({2, 6, 3, 3}, Dtype::float32, test_device()));
  const Variable six(ones({6}, Dtype::float32, test_device())), four(ones({4}, Dtype::float32, test_device()));
  CHECK_THROWS_WITH_AS(
      F::group_normalization(x, 4, six, six),
      "F::group_normalization: groups is 4 but x has shape (2, 6, 3, 3): groups must divide x.shape[1]", ValueError);
  CHECK_THROWS_AS(F::group_normalization(x, 0, six, six), ValueError);
  CHECK_THROWS_WITH_AS(F::group_normalization(x, 2, four, four),
                       "F::group_normalization: gamma has shape (4,) but x has shape (2, 6, 3, 3): gamma.shape[0] must "
                       "equal x.shape[1] (4 != 6)",
                       TypeError);
  CHECK_THROWS_AS(F::group_normalization(zeros({6}, Dtype::float32, test_device()), 2, six, six), TypeError);
  CHECK_THROWS_WITH_AS(F::group_normalization(int_ones({2, 6}), 2, six, six),
                       "F::group_normalization: x has dtype int64: x.dtype must be floating", TypeError);
}

}  // namespace
}  // namespace kusari
