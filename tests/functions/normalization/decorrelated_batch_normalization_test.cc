#include "kusari/framework/functions/normalization/decorrelated_batch_normalization.h"

#include <cmath>
#include <vector>

#include "kusari/framework/core/config.h"
#include "kusari/framework/kernels/symmetric_eigen.h"
#include "kusari/tests/functions/testing.h"

using namespace kusari;
using namespace kusari::testing;

namespace {

/// Element (c, k) of y as (channel, everything else), C order.
std::vector<double> by_channel(const Array& y) {
  Dims order;
  for (int i = 0; i < y.ndim(); ++i) order.push_back(i);
  std::swap(order[0], order[1]);
  return y.transpose({order.begin(), order.size()}).to_vector<double>();
}

}  // namespace

TEST_CASE("symmetric_eigen: values, vectors and layouts") {
  const Array a = array<double>({2, 1, 1, 2, 5, 0, 0, -3}, {2, 2, 2}, test_device());
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    const Array values = empty({2, 2}, dtype, test_device()),
                vectors = empty({2, 2, 2}, dtype, test_device()).transpose({0, 2, 1});
    launch<kernels::SymmetricEigen>(a.device(), a.astype(dtype).transpose({0, 2, 1}), values, vectors);
    check_close(values, {2, 2}, {1, 3, -3, 5}, 4);
    const std::vector<double> v = vectors.to_vector<double>(), l = values.to_vector<double>(),
                              m = a.to_vector<double>();
    for (size_t k = 0; k < 2; ++k) {  // a = V diag(l) V^T
      for (size_t i = 0; i < 2; ++i) {
        for (size_t j = 0; j < 2; ++j) {
          double sum = 0;
          for (size_t e = 0; e < 2; ++e) sum += v[k * 4 + i * 2 + e] * l[k * 2 + e] * v[k * 4 + j * 2 + e];
          CHECK(std::abs(sum - m[k * 4 + i * 2 + j]) < 20 * tolerance(dtype));
        }
      }
    }
  }
  const Array bad = full({1, 2, 2}, NAN, Dtype::float32, test_device()),
              values = empty({1, 2}, Dtype::float32, test_device()),
              vectors = empty({1, 2, 2}, Dtype::float32, test_device());
  launch<kernels::SymmetricEigen>(bad.device(), bad, values, vectors);
  CHECK(std::isnan(values.to_vector<float>()[0]));
}

TEST_CASE("decorrelated_batch_normalization whitens each group") {
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    // Channels that depend on each other: x1 = x0 + noise, and so on.
    const int64_t m = 8 * 5;
    const std::vector<double> noise = uniform({4, m}, -1, 1).to_vector<double>();
    std::vector<double> mixed(noise);
    for (size_t i = static_cast<size_t>(m); i < mixed.size(); ++i)
      mixed[i] += 0.7 * mixed[i - static_cast<size_t>(m)] + 1;
    const Array x = array(mixed, {4, 8, 5}, test_device()).transpose({1, 0, 2}).astype(dtype);
    for (const Array& operand : {x.copy(), x.channels_last()}) {
      const Variable y = F::decorrelated_batch_normalization(operand, {.groups = 2, .eps = 0});
      REQUIRE(y.dtype() == dtype);
      const std::vector<double> v = by_channel(y.array());
      for (size_t g = 0; g < 2; ++g) {
        for (size_t i = 0; i < 2; ++i) {
          for (size_t j = 0; j <= i; ++j) {
            double sum = 0, mean = 0;
            for (size_t k = 0; k < 40; ++k) {
              sum += v[(2 * g + i) * 40 + k] * v[(2 * g + j) * 40 + k] / 40;
              mean += v[(2 * g + i) * 40 + k] / 40;
            }
            CHECK(std::abs(mean) < 20 * tolerance(dtype));
            CHECK(std::abs(sum - (i == j ? 1.0 : 0.0)) < 20 * tolerance(dtype));
          }
        }
      }
    }
  }
}

TEST_CASE("decorrelated_batch_normalization: gradients of both orders") {
  const Array x = uniform({5, 4, 3}, -1, 1);
  for (const int64_t groups : {int64_t{1}, int64_t{2}, int64_t{4}}) {
    CAPTURE(groups);
    check_gradients(
        [&](const Variable& v) { return F::decorrelated_batch_normalization(v, {.groups = groups, .eps = 1e-2}); }, x);
  }
  // Equal eigenvalues: channels that are permutations of each other's signs.
  const Array even = array<double>({1, 1, 1, -1, -1, 1, -1, -1}, {4, 2}, test_device());
  check_gradients([](const Variable& v) { return F::decorrelated_batch_normalization(v, {.groups = 1, .eps = 1e-2}); },
                  even);
  const Array mean = uniform({2, 2}, -1, 1, 2), projection = uniform({2, 2, 2}, -1, 1, 3);
  check_gradients([](const Variable& v, const Variable& m,
                     const Variable& p) { return F::fixed_decorrelated_batch_normalization(v, m, p, 2); },
                  x, mean, projection);
}

TEST_CASE("decorrelated_batch_normalization: running statistics reproduce the batch") {
  const Array x = uniform({5, 4, 3}, -1, 1);
  const Array mean = zeros({2, 2}, Dtype::float64, test_device()),
              projection = zeros({2, 2, 2}, Dtype::float64, test_device());
  const F::DecorrelatedBatchNormalizationOptions options{
      .groups = 2, .eps = 1e-3, .running_mean = mean, .running_projection = projection, .decay = 0};
  const Variable y = F::decorrelated_batch_normalization(x, options);
  const double unbiased = 15.0 / 14.0;
  const Array biased = array<double>(
      [&] {
        std::vector<double> v = projection.to_vector<double>();
        for (double& p : v) p /= unbiased;
        return v;
      }(),
      {2, 2, 2}, test_device());
  check_close(F::fixed_decorrelated_batch_normalization(x, mean, biased, 2), x.shape(), y.to_vector<double>(), 100);
  mean.fill(7);
  const auto guard = using_config(&Config::in_recomputing, true);
  F::decorrelated_batch_normalization(x, options);
  CHECK(mean.to_vector<double>()[0] == 7);
}

TEST_CASE("decorrelated_batch_normalization: a batch of 0 leaves the running statistics") {
  const Array mean = full({2, 2}, 7.0, Dtype::float64, test_device()),
              projection = full({2, 2, 2}, 5.0, Dtype::float64, test_device());
  const Variable y = F::decorrelated_batch_normalization(
      zeros({0, 4, 3}, Dtype::float64, test_device()),
      {.groups = 2, .running_mean = mean, .running_projection = projection, .decay = 0.5});
  CHECK(y.shape() == Shape{0, 4, 3});
  CHECK(mean.to_vector<double>() == std::vector<double>(4, 7));
  CHECK(projection.to_vector<double>() == std::vector<double>(8, 5));
}

TEST_CASE("decorrelated_batch_normalization: errors") {
  const Variable x(zeros({2, 6}, Dtype::float32, test_device()), false);
  CHECK_THROWS_WITH_AS(F::decorrelated_batch_normalization(x, {.groups = 4}),
                       "F::decorrelated_batch_normalization: groups is 4 but x has shape (2, 6): groups must divide "
                       "x.shape[1]",
                       ValueError);
  CHECK_THROWS_AS(
      F::decorrelated_batch_normalization(Variable(zeros({3}, Dtype::float32, test_device()), false), {.groups = 1}),
      TypeError);
  CHECK_THROWS_WITH_AS(
      F::decorrelated_batch_normalization(x, {.groups = 2, .running_mean = zeros({6}, Dtype::float32, test_device())}),
      "F::decorrelated_batch_normalization: running_mean has shape (6,): it must be (2, 3)", ValueError);
  const Variable mean(zeros({2, 3}, Dtype::float32, test_device()), false),
      projection(zeros({2, 3, 2}, Dtype::float32, test_device()), false);
  CHECK_THROWS_AS(F::fixed_decorrelated_batch_normalization(x, mean, projection, 2), TypeError);
}
