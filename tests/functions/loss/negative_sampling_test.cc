#include "kusari/framework/functions/loss/negative_sampling.h"

#include <cmath>
#include <limits>
#include <vector>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;
using F::Reduce;

// Gives the same samples each time; the first column is not used.
F::Sampler fixed(const Array& samples) {
  return [samples](const Shape& shape) {
    CHECK(shape == samples.shape());
    return samples;
  };
}

// The losses of labels t, -1 costing nothing, with samples (N, 1 + k).
std::vector<double> negative_sampling_losses(const Array& x, const std::vector<int>& t, const Array& W,
                                             const Array& samples) {
  const std::vector<double> a = x.to_vector<double>(), w = W.to_vector<double>();
  const std::vector<int> drawn = samples.to_vector<int>();
  const size_t d = static_cast<size_t>(x.shape()[1]), k = drawn.size() / t.size();
  const auto softplus = [&](size_t i, int row, double sign) {
    double dot = 0;
    for (size_t j = 0; j < d; ++j) dot += a[i * d + j] * w[static_cast<size_t>(row) * d + j];
    return std::log1p(std::exp(sign * dot));
  };
  std::vector<double> result;
  for (size_t i = 0; i < t.size(); ++i) {
    double loss = 0;
    if (t[i] != -1) {
      loss = softplus(i, t[i], -1);
      for (size_t n = 1; n < k; ++n) loss += softplus(i, drawn[i * k + n], 1);
    }
    result.push_back(loss);
  }
  return result;
}

TEST_CASE("negative_sampling") {
  const std::vector<int> labels = {2, -1, 0};
  const Array t = array(labels, test_device());
  const Array samples = array<int>({9, 1, 2, 9, 3, 0, 9, 0, 3}, {3, 3}, test_device());
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    const Array x = uniform({3, 4}, -1, 1, 1).astype(dtype), W = uniform({4, 4}, -1, 1, 2).astype(dtype);
    const std::vector<double> each = negative_sampling_losses(x, labels, W, samples);
    CHECK(F::negative_sampling(x, t, W, fixed(samples), 2).dtype() == dtype);
    check_close(F::negative_sampling(x, t, W, fixed(samples), 2), {}, {each[0] + each[2]}, 2);
    Array returned;
    check_close(F::negative_sampling(x, t, W, fixed(samples), 2, {.reduce = Reduce::no, .return_samples = &returned}),
                {3}, each);
    CHECK(returned.to_vector<int>() == std::vector<int>{2, 1, 2, -1, 3, 0, 0, 0, 3});
  }
  CHECK(samples.to_vector<int>()[0] == 9);  // the sampler's array is left alone
}

TEST_CASE("negative_sampling accumulates half types in float32") {
  // In float16, 2048 + 1 is 2048.
  const Array x = ones({1, 4096}, Dtype::float16, test_device());
  const Array W = full({1, 4096}, -1, Dtype::float16, test_device());
  const Array t = zeros({1}, Dtype::int32, test_device());
  CHECK(F::negative_sampling(x, t, W, fixed(zeros({1, 1}, Dtype::int32, test_device())), 0).item<double>() == 4096);
}

TEST_CASE("negative_sampling's gradients") {
  const Array t = array<int>({2, -1, 0}, test_device());
  const Array samples = array<int>({0, 1, 2, 0, 3, 0, 0, 0, 3}, {3, 3}, test_device());
  for (const Reduce reduce : {Reduce::sum, Reduce::no}) {
    check_gradients(
        [&](const Variables& v) {
          return Variables(F::negative_sampling(v[0], t, v[1], fixed(samples), 2, {.reduce = reduce}));
        },
        uniform({3, 4}, -1, 1, 1), uniform({4, 4}, -1, 1, 2));
  }
}

TEST_CASE("examples that negative_sampling ignores leave no trace") {
  const Array ok = uniform({2, 2}, -1, 1);
  const Array x = ok.copy();
  x.at(1).fill(std::numeric_limits<double>::quiet_NaN());
  const Variable v(x), W(uniform({3, 2}, -1, 1));
  const Array t = array<int>({1, -1}, test_device()), samples = array<int>({0, 2, 0, 2}, {2, 2}, test_device());
  const Variable loss = F::negative_sampling(v, t, W, fixed(samples), 1);
  CHECK(std::isfinite(loss.item<double>()));
  for (const double g : gradient(loss, W)) CHECK(std::isfinite(g));
  const std::vector<double> gx = gradient(loss, v);
  CHECK(gx[0] != 0);
  CHECK(gx[2] == 0);
  CHECK(gx[3] == 0);
}

TEST_CASE("negative_sampling of what does not fit") {
  const Array x = ones({2, 3}, Dtype::float32, test_device()), W = ones({4, 3}, Dtype::float32, test_device());
  const Array t = zeros({2}, Dtype::int32, test_device()), samples = zeros({2, 2}, Dtype::int32, test_device());
  const F::Sampler sampler = [&](const Shape&) { return samples; };
  CHECK_THROWS_WITH_AS(F::negative_sampling(x, t, ones({4, 2}, Dtype::float32, test_device()), sampler, 1),
                       "F::negative_sampling: W has shape (4, 2) and dtype float32 but x has shape (2, 3) and dtype "
                       "float32: W must be (V, D) where x is (N, D)",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::negative_sampling(x, zeros({3}, Dtype::int32, test_device()), W, sampler, 1),
                       "F::negative_sampling: t has shape (3,) and dtype int32 but x has shape (2, 3) and dtype "
                       "float32: t must be integers, one per row of x",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::negative_sampling(int_ones({2, 3}), t, W, sampler, 1),
                       "F::negative_sampling: x has shape (2, 3) and dtype int64: it must be a floating matrix (N, D)",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::negative_sampling(x, t, W, sampler, 2),
                       "F::negative_sampling: the sampler gave shape (2, 2) and dtype int32: it must give integers of "
                       "shape (2, 3)",
                       ValueError);
  CHECK_THROWS_WITH_AS(F::negative_sampling(x, t, W, sampler, -1),
                       "F::negative_sampling: sample_size is -1: it must not be negative", ValueError);
  CHECK_THROWS_WITH_AS(F::negative_sampling(x, t, W, sampler, 1, {.reduce = Reduce::mean}),
                       "F::negative_sampling: reduce must be sum or no", ValueError);
  CHECK_THROWS_AS(F::negative_sampling(x, t, W, sampler, std::numeric_limits<int64_t>::max()), ValueError);
  CHECK_THROWS_AS(F::negative_sampling(x, Variable(), W, sampler, 1), TypeError);
  if (test_device().is_cpu()) {
    CHECK_THROWS_WITH_AS(F::negative_sampling(x, array<int>({0, 4}, test_device()), W, sampler, 1),
                         "F::negative_sampling: index 4 is out of range for an axis of size 4", IndexError);
  }
}

}  // namespace
}  // namespace kusari
