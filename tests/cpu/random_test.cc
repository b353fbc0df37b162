#include "kusari/framework/kernels/random.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "kusari/framework/core/threads.h"

using namespace kusari;

namespace {

struct Moments {
  double mean = 0;
  double variance = 0;
  double fourth = 0;  // central, over the squared variance
};

Moments moments(const Array& x) {
  const std::vector<double> v = x.to_vector<double>();
  const auto n = static_cast<double>(v.size());
  Moments m;
  for (const double e : v) m.mean += e / n;
  for (const double e : v) m.variance += (e - m.mean) * (e - m.mean) / n;
  for (const double e : v) m.fourth += std::pow(e - m.mean, 4) / n;
  m.fourth /= m.variance * m.variance;
  return m;
}

}  // namespace

TEST_CASE("random: uniform and normal numbers have their moments") {
  const int64_t n = 400'000;  // five standard errors below
  for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
    CAPTURE(name(dtype));
    const Array x = empty({n}, dtype);
    launch<kernels::Uniform>(x.device(), kernels::UniformRange{-1, 3}, RandomState{42, 0}, x);
    Moments m = moments(x);
    CHECK(std::abs(m.mean - 1) < 5 * std::sqrt(16.0 / 12 / n));
    CHECK(std::abs(m.variance - 16.0 / 12) < 0.01);
    CHECK(std::abs(m.fourth - 1.8) < 0.02);
    for (const double v : x.to_vector<double>()) REQUIRE((v >= -1 && v < 3));
    launch<kernels::Normal>(x.device(), kernels::NormalMoments{2, 0.5}, RandomState{42, 0}, x);
    m = moments(x);
    CHECK(std::abs(m.mean - 2) < 5 * 0.5 / std::sqrt(n));
    CHECK(std::abs(m.variance - 0.25) < 5 * 0.25 * std::sqrt(2.0 / n));
    CHECK(std::abs(m.fourth - 3) < 5 * std::sqrt(96.0 / n));
  }
}

TEST_CASE("random: an element depends on the seed and its place alone") {
  const RandomState at{7, 1001};
  for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
    const int64_t n = 100'003;
    const Array all = empty({n}, dtype), part = empty({n - 33}, dtype), other = empty({n}, dtype);
    const int before = num_threads();
    set_num_threads(3);
    launch<kernels::Normal>(all.device(), kernels::NormalMoments{}, at, all);
    set_num_threads(1);
    launch<kernels::Normal>(all.device(), kernels::NormalMoments{}, RandomState{at.seed, at.offset + 33}, part);
    set_num_threads(before);
    CHECK(part.to_vector<double>() == all.slice(0, 33, n - 33).to_vector<double>());
    launch<kernels::Normal>(all.device(), kernels::NormalMoments{}, RandomState{8, at.offset}, other);
    CHECK(other.to_vector<double>() != all.to_vector<double>());
  }
}

TEST_CASE("random: numbers fill by logical index in every layout; half types round the float32 numbers") {
  const Shape shape{2, 3, 4, 5};
  const Array plain = empty(shape), channels_last = empty_strided(shape, channels_last_strides(shape), Dtype::float32);
  const Array half = empty(shape, Dtype::float16);
  for (const Array& x : {plain, channels_last, half}) {
    launch<kernels::Uniform>(x.device(), kernels::UniformRange{}, RandomState{3, 5}, x);
  }
  CHECK(channels_last.to_vector<float>() == plain.to_vector<float>());
  CHECK(half.to_vector<float>() == plain.astype(Dtype::float16).to_vector<float>());
}

TEST_CASE("random: dropout") {
  const Array x = full({1000, 100}, 3, Dtype::float32), y = empty_like(x), mask = empty_like(x), u = empty_like(x);
  const RandomState at{11, 4};
  launch<kernels::Dropout>(x.device(), kernels::DropoutRatio{0.2}, at, x, y, mask);
  launch<kernels::Uniform>(x.device(), kernels::UniformRange{}, at, u);
  const std::vector<float> out = y.to_vector<float>(), m = mask.to_vector<float>(), drawn = u.to_vector<float>();
  int64_t kept = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    REQUIRE(m[i] == (drawn[i] < 0.2f ? 0.0f : 1.25f));
    REQUIRE(out[i] == 3.0f * m[i]);
    kept += m[i] != 0 ? 1 : 0;
  }
  CHECK(std::abs(static_cast<double>(kept) / 1e5 - 0.8) < 5 * std::sqrt(0.16 / 1e5));
  launch<kernels::Dropout>(x.device(), kernels::DropoutRatio{0}, at, x, y, mask);
  CHECK(y.to_vector<float>() == x.to_vector<float>());
}
