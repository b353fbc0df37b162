// Sums of 16-bit numbers are taken in float32 at least, wherever they hide: forward and in gradients. Each function is
// compared with itself in float64 on the same numbers, to about one rounding of the results. Sums of thousands of
// numbers in 16 bits would be off by far more: float16 stops adding ones at 2048, bfloat16 at 256.
#include <algorithm>
#include <functional>
#include <string>

#include "kusari/framework/functions/activation/log_softmax.h"
#include "kusari/framework/functions/activation/prelu.h"
#include "kusari/framework/functions/activation/softmax.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/repeat.h"
#include "kusari/framework/functions/array/resize_images.h"
#include "kusari/framework/functions/array/scatter_add.h"
#include "kusari/framework/functions/array/tile.h"
#include "kusari/framework/functions/connection/embed_id.h"
#include "kusari/framework/functions/connection/linear.h"
#include "kusari/framework/functions/loss/contrastive.h"
#include "kusari/framework/functions/loss/cross_covariance.h"
#include "kusari/framework/functions/loss/decov.h"
#include "kusari/framework/functions/loss/discriminative_loss.h"
#include "kusari/framework/functions/loss/hinge.h"
#include "kusari/framework/functions/loss/huber_loss.h"
#include "kusari/framework/functions/loss/mean_absolute_error.h"
#include "kusari/framework/functions/loss/mean_squared_error.h"
#include "kusari/framework/functions/loss/sigmoid_cross_entropy.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/functions/loss/triplet.h"
#include "kusari/framework/functions/loss/vae.h"
#include "kusari/framework/functions/math/average.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/bias.h"
#include "kusari/framework/functions/math/logsumexp.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/functions/math/scale.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/normalization/batch_normalization.h"
#include "kusari/framework/functions/normalization/group_normalization.h"
#include "kusari/framework/functions/normalization/l2_normalization.h"
#include "kusari/framework/functions/normalization/layer_normalization.h"
#include "kusari/framework/functions/pooling/average_pooling_nd.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

using Function = std::function<Variable(const Variables&)>;

/// The largest difference of elements, relative to the largest element.
double difference(const Array& got, const Array& expected) {
  REQUIRE(got.shape() == expected.shape());
  const std::vector<double> a = got.to_vector<double>(), b = expected.to_vector<double>();
  double largest = 1e-30, off = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(b[i]));
    off = std::max(off, std::isnan(a[i]) ? 1e30 : std::abs(a[i] - b[i]));
  }
  return off / largest;
}

struct Results {
  Array y;
  std::vector<Array> gradients;
};

Results run(const Function& function, const std::vector<Array>& arrays, double gradient) {
  Variables inputs;
  for (const Array& array : arrays) inputs.push_back(Variable(array, array.is_floating()));
  Variable y = function(inputs);
  const Array all = ones(y.shape(), y.dtype(), y.device());
  all.fill(gradient);
  y.set_grad(all);
  y.backward();
  Results results{y.array(), {}};
  for (const Variable& input : inputs) results.gradients.push_back(input.grad());
  return results;
}

/// `gradient`: of every element of the result, so small that no sum of many overflows.
void check(const std::string& what, const Function& function, const std::vector<Array>& arrays, double gradient = 0.25,
           double roundings = 1) {
  CAPTURE(what);
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16}) {
    CAPTURE(std::string(name(dtype)));
    std::vector<Array> narrow, wide;
    for (const Array& array : arrays) {
      const Array given = on_test_device(array);
      narrow.push_back(given.is_floating() ? given.astype(dtype) : given);
      wide.push_back(given.is_floating() ? narrow.back().astype(Dtype::float64) : given);
    }
    const Results got = run(function, narrow, gradient), expected = run(function, wide, gradient);
    // A float32 sum of 70,000 equal terms, one by one, drifts by some 1e-4.
    const double tolerance = roundings * (dtype == Dtype::float16 ? 0x1p-11 : 0x1p-8) + 3e-4;
    CHECK(got.y.dtype() == dtype);
    CHECK(difference(got.y, expected.y) < tolerance);
    for (size_t i = 0; i < arrays.size(); ++i) {
      if (!arrays[i].is_floating()) continue;
      CAPTURE(i);
      REQUIRE(got.gradients[i].is_defined());
      CHECK(difference(got.gradients[i], expected.gradients[i]) < tolerance);
    }
  }
}

Array labels(int64_t n, int64_t classes) {
  std::vector<int32_t> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<int32_t>(i % classes));
  return array(values, {n});
}

constexpr int64_t kMany = 4096, kMore = 70000;

TEST_CASE("16-bit sums and means are taken in float32") {
  for (const int64_t n : {kMany, kMore}) {
    CAPTURE(n);
    const Array x = uniform({n, 3}, 0.01, 0.05), flat = uniform({3, n}, 0.01, 0.05);
    check("sum", [](const Variables& v) { return F::sum(v[0]); }, {x});
    check("sum over rows", [](const Variables& v) { return F::sum(v[0], 0); }, {x});
    check("sum along rows", [](const Variables& v) { return F::sum(v[0], 1); }, {flat});
    check(
        "average", [](const Variables& v) { return F::average(v[0], 0); }, {x}, 64);
    check(
        "weighted average", [](const Variables& v) { return F::average(v[0], 0, v[1]); }, {x, uniform({n}, 0.5, 0.7)},
        64, 24);
    // The gradient is that of the rounded result: exp(x - y).
    check(
        "logsumexp", [](const Variables& v) { return F::logsumexp(v[0], 1); }, {flat}, 64, 24);
    check(
        "broadcast",
        [n](const Variables& v) {
          return F::broadcast_to(v[0], {n, 3});
        },
        {uniform({3}, 1, 2)}, 0.05);
    check(
        "add", [](const Variables& v) { return v[0] + F::broadcast_to(v[1], v[0].shape()); }, {x, uniform({3}, 1, 2)},
        0.05);
    check(
        "bias", [](const Variables& v) { return F::bias(v[0], v[1]); }, {x, uniform({3}, 1, 2)}, 0.05);
    check(
        "scale", [](const Variables& v) { return F::scale(v[0], v[1]); }, {x, uniform({3}, 1, 2)}, 0.05, 2);
    check(
        "repeat", [n](const Variables& v) { return F::repeat(v[0], n, 0); }, {uniform({3}, 1, 2)}, 0.05);
    check(
        "tile", [n](const Variables& v) { return F::tile(v[0], {n}); }, {uniform({3}, 1, 2)}, 0.05);
  }
}

TEST_CASE("16-bit losses are means of float32 sums") {
  for (const int64_t n : {kMany, kMore}) {
    CAPTURE(n);
    const Array x = uniform({n, 3}, -1, 2, 1), t = uniform({n, 3}, -1, 1, 2);
    check(
        "mean_squared_error", [](const Variables& v) { return F::mean_squared_error(v[0], v[1]); }, {x, t}, 64, 2);
    check(
        "mean_absolute_error", [](const Variables& v) { return F::mean_absolute_error(v[0], v[1]); }, {x, t}, 64, 2);
    check(
        "softmax_cross_entropy", [](const Variables& v) { return F::softmax_cross_entropy(v[0], v[1]); },
        {x, labels(n, 3)}, 64, 2);
    check(
        "sigmoid_cross_entropy", [](const Variables& v) { return F::sigmoid_cross_entropy(v[0], v[1]); },
        {x, ones({n, 3}, Dtype::int32)}, 64, 2);
    check(
        "huber_loss", [](const Variables& v) { return F::huber_loss(v[0], v[1], 1); },
        {uniform({2, n}, 0, 0.1, 1), uniform({2, n}, 0.1, 0.2, 2)}, 1, 4);
    check(
        "gaussian_kl_divergence", [](const Variables& v) { return F::gaussian_kl_divergence(v[0], v[1]); },
        {uniform({n}, 0.1, 0.3, 1), uniform({n}, -0.5, -0.2, 2)}, 1, 4);
  }
}

TEST_CASE("16-bit losses of distances and covariances are computed in float32") {
  for (const int64_t n : {kMany, kMore}) {
    CAPTURE(n);
    const Array x = uniform({n, 3}, -1, 2, 1), y = uniform({n, 3}, -1, 1, 2), z = uniform({n, 3}, -2, 1, 3);
    const Array alike = labels(n, 2);
    check(
        "contrastive", [](const Variables& v) { return F::contrastive(v[0], v[1], v[2], 2); }, {x, y, alike}, 64);
    check(
        "hinge", [](const Variables& v) { return F::hinge(v[0], v[1]); }, {x, labels(n, 3)}, 64);
    check(
        "triplet", [](const Variables& v) { return F::triplet(v[0], v[1], v[2]); }, {x, y, z}, 64);
    // Means that are large beside the deviations.
    const Array a = uniform({n, 3}, 7, 8, 4), b = uniform({n, 2}, -8, -6, 5);
    check(
        "cross_covariance", [](const Variables& v) { return F::cross_covariance(v[0], v[1], F::CovarianceReduce::no); },
        {a, b}, 64);
    check(
        "decov", [](const Variables& v) { return F::decov(v[0], F::CovarianceReduce::no); }, {a}, 64);
  }
  for (const int norm : {1, 2}) {
    check(
        "discriminative_margin_based_clustering_loss",
        [=](const Variables& v) {
          const F::DiscriminativeLoss all =
              F::discriminative_margin_based_clustering_loss(v[0], v[1], 0.5, 4, 3, {.norm = norm});
          return all.variance + all.distance + all.regularization;
        },
        {uniform({2, 3, 64, 64}, 1, 3), labels(2 * kMany, 4).reshape({2, 64, 64})}, 64, 2);
  }
}

TEST_CASE("16-bit softmax sums in float32") {
  const Array w = uniform({2, kMany}, 0.5, 1, 2);
  check(
      "softmax", [](const Variables& v) { return F::softmax(v[0]) * v[1]; }, {uniform({2, kMany}, -1, 1), w}, 64, 4);
  for (const int64_t n : {kMany, kMore}) {  // the gradient is that of the rounded result
    check(
        "log_softmax", [](const Variables& v) { return F::log_softmax(v[0]); }, {uniform({2, n}, -1, 1)}, 0.25, 24);
  }
}

TEST_CASE("16-bit matrix products and their gradients sum in float32") {
  const int64_t n = kMany;
  const Array x = uniform({n, 3}, 0.01, 0.05), w = uniform({5, n}, 0.1, 0.4, 2), b = uniform({5}, -1, 1, 3);
  check(
      "linear over many inputs", [](const Variables& v) { return F::linear(v[0], v[1], v[2]); },
      {uniform({4, n}, 0.01, 0.05), w, b}, 0.25);
  check(
      "linear over many examples", [](const Variables& v) { return F::linear(v[0], v[1], v[2]); },
      {x, uniform({5, 3}, 0.1, 0.4, 2), b}, 0.05);
  check("matmul", [](const Variables& v) { return F::matmul(v[0], v[1]); },
        {uniform({2, 3, n}, 0.01, 0.05), uniform({2, n, 4}, 0.1, 0.4)});
  check("product with a vector", [](const Variables& v) { return F::matmul(v[0], v[1]); },
        {uniform({3, kMore}, 0.01, 0.05), uniform({kMore}, 0.1, 0.2)});
}

TEST_CASE("16-bit normalizations sum in float32") {
  const int64_t n = kMany;
  const auto weighted = [](const Variable& y, const Variable& w) { return y * w; };
  const Array gamma = uniform({3}, 0.5, 1.5, 3), beta = uniform({3}, -1, 1, 4);
  check(
      "batch_normalization",
      [&](const Variables& v) { return weighted(F::batch_normalization(v[0], v[1], v[2]), v[3]); },
      {uniform({n, 3}, 10, 12), gamma, beta, uniform({n, 3}, 0.1, 1, 5)}, 0.25, 6);
  check(
      "layer_normalization",
      [&](const Variables& v) { return weighted(F::layer_normalization(v[0], v[1], v[2]), v[3]); },
      {uniform({3, n}, 4, 6), uniform({n}, 0.5, 1.5, 3), uniform({n}, -1, 1, 4), uniform({3, n}, 0.1, 1, 5)}, 0.25, 6);
  check(
      "group_normalization",
      [&](const Variables& v) { return weighted(F::group_normalization(v[0], 1, v[1], v[2]), v[3]); },
      {uniform({2, 3, 64, 64}, 4, 6), gamma, beta, uniform({2, 3, 64, 64}, 0.1, 1, 5)}, 0.25, 6);
  check(
      "normalize", [&](const Variables& v) { return weighted(F::normalize(v[0]), v[1]); },
      {uniform({3, n}, 0.5, 1), uniform({3, n}, 0.1, 1, 5)}, 8, 4);
}

TEST_CASE("16-bit images are averaged and resized in float32") {
  check(
      "average_pooling_2d", [](const Variables& v) { return F::average_pooling_2d(v[0], 64); },
      {uniform({2, 3, 64, 64}, 0.5, 1)}, 64);
  check(
      "average_pooling_2d with overlapping windows",
      [](const Variables& v) { return F::average_pooling_2d(v[0], 33, {.stride = 1, .pad = 16}); },
      {uniform({1, 3, 40, 40}, 0.5, 1)}, 1);
  check(
      "resize_images",
      [](const Variables& v) {
        return F::resize_images(v[0], {64, 64});
      },
      {uniform({1, 3, 2, 2}, 0.5, 1)}, 0.05);
  check(
      "prelu", [](const Variables& v) { return F::prelu(v[0], v[1]); },
      {uniform({kMany, 3}, -0.2, 0.1), uniform({3}, 0.1, 0.4, 2)}, 0.25, 2);
}

TEST_CASE("16-bit rows that meet are added in float32") {
  for (const int64_t n : {kMany, kMore}) {
    check(
        "embed_id", [](const Variables& v) { return F::embed_id(v[0], v[1]); }, {labels(n, 3), uniform({3, 5}, 1, 2)},
        0.05);
    const Array places = on_test_device(labels(n, 2));
    check(
        "get_item", [&](const Variables& v) { return F::get_item(v[0], {Index(places)}); }, {uniform({2, 5}, 1, 2)},
        0.05);
    check(
        "scatter_add", [&](const Variables& v) { return F::scatter_add(v[0], {Index(places)}, v[1]); },
        {uniform({2, 5}, 1, 2), uniform({n, 5}, 0.01, 0.05, 2)}, 0.25, 2);
  }
}

}  // namespace
}  // namespace kusari
