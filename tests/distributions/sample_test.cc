#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/gammainc.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/tests/distributions/distribution_maker.h"

using namespace kusari;
using namespace kusari::testing;

namespace {

constexpr int64_t kSamples = 20000;

Variable number(double value, Dtype dtype = Dtype::float64) {
  return Variable(full({}, value, dtype, test_device()), true);
}

/// Kolmogorov and Smirnov's test: samples that are none of the distribution pass one time in a million less often.
void check_continuous(const D::Distribution& d) {
  std::vector<double> x = d.sample({kSamples}).to_vector<double>();
  std::sort(x.begin(), x.end());
  // In float64: the rounding of a cdf in float32 is no matter, that of samples is.
  const Variable shares = d.cdf(Variable(array(x).astype(d.dtype()).to_device(d.device()), false));
  const std::vector<double> share = shares.to_vector<double>();
  double largest = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    REQUIRE(std::isfinite(x[i]));
    const auto n = static_cast<double>(x.size()), rank = static_cast<double>(i);
    largest = std::max({largest, share[i] - rank / n, (rank + 1) / n - share[i]});
  }
  CHECK(largest * std::sqrt(static_cast<double>(kSamples)) < 2.694);  // 2 exp(-2 t^2) = 1e-6
}

/// The chi-square test at the same level, in cells of at least 5 expected samples. `share_up_to(k)`: the cdf.
template <class Share>
void check_counts(const std::vector<double>& x, int64_t low, int64_t high, const Share& share_up_to) {
  const auto n = static_cast<double>(x.size());
  double statistic = 0, expected = 0, seen = 0, before = 0;
  int cells = 0;
  std::vector<double> sorted = x;
  std::sort(sorted.begin(), sorted.end());
  size_t at = 0;
  for (int64_t k = low; k <= high; ++k) {
    const double up_to = k == high ? 1 : share_up_to(k);
    expected += n * (up_to - before);
    before = up_to;
    for (; at < sorted.size() && (k == high || sorted[at] <= static_cast<double>(k)); ++at) ++seen;
    if (expected < 5 && k != high) continue;
    if (expected > 0) statistic += (seen - expected) * (seen - expected) / expected;
    CHECK((expected > 0 || seen == 0));
    cells += expected > 0 ? 1 : 0;
    expected = seen = 0;
  }
  const double f = cells - 1, third = 2 / (9 * f);
  CHECK(statistic <
        f * std::pow(1 - third + 4.753 * std::sqrt(third), 3));  // Wilson and Hilferty, the 1 - 1e-6 quantile
}

void check_discrete(const D::Distribution& d, int64_t low, int64_t high) {
  const std::vector<double> x = d.sample_n(kSamples).to_vector<double>();
  for (const double each : x) REQUIRE(each == std::floor(each));
  check_counts(x, low, high,
               [&](int64_t k) { return d.cdf(number(static_cast<double>(k), d.dtype())).item<double>(); });
}

/// Samples by the same random numbers move with a parameter as their gradient says.
void check_sample_gradient(const std::string& name, const Parameters& parameters, double tolerance = 1e-5) {
  CAPTURE(name);
  const auto draw = [&](const Parameters& p) {
    random::seed(11);
    return make_distribution(name, p)->sample({50});
  };
  const Variable y = draw(parameters);
  for (const auto& [key, value] : parameters) {
    CAPTURE(key);
    const double h = 1e-6;
    for (int64_t element = 0; element < value.size(); ++element) {
      Array step = zeros({value.size()}, Dtype::float64);
      step.slice(0, element, 1).fill(h);
      const Array there = step.reshape(value.shape()).to_device(test_device());
      Parameters up = parameters, down = parameters;
      up[key] = Variable(value.array() + there, false);
      down[key] = Variable(value.array() - there, false);
      const std::vector<double> high = draw(up).to_vector<double>(), low = draw(down).to_vector<double>();
      double difference = 0;
      for (size_t i = 0; i < high.size(); ++i) difference += (high[i] - low[i]) / (2 * h);
      const Variable slope = grad({F::sum(y)}, {value})[0];
      CHECK(slope.to_vector<double>()[static_cast<size_t>(element)] ==
            doctest::Approx(difference).epsilon(tolerance).scale(1));
    }
  }
}

Made one(const std::string& name, const std::vector<std::pair<std::string, double>>& given, Dtype dtype) {
  Parameters p;
  for (const auto& [key, value] : given) p[key] = number(value, dtype);
  return make_distribution(name, p);
}

}  // namespace

TEST_CASE("distributions: samples are what their cdf says") {
  random::seed(20);
  struct Case {
    const char* name;
    std::vector<std::pair<std::string, double>> parameters;
  };
  for (const Case& c : std::vector<Case>{{"Normal", {{"loc", 1}, {"scale", 3}}},
                                         {"Uniform", {{"low", -2}, {"high", 5}}},
                                         {"Exponential", {{"lam", 0.3}}},
                                         {"Laplace", {{"loc", -1}, {"scale", 2}}},
                                         {"Gumbel", {{"loc", 1}, {"scale", 2}}},
                                         {"Cauchy", {{"loc", 0.5}, {"scale", 2}}},
                                         {"LogNormal", {{"mu", 0.2}, {"sigma", 0.7}}},
                                         {"Pareto", {{"scale", 2}, {"alpha", 1.5}}},
                                         {"Chisquare", {{"k", 3}}},
                                         {"Beta", {{"a", 0.3}, {"b", 2}}},
                                         {"Beta", {{"a", 4}, {"b", 7}}},
                                         {"Beta", {{"a", 1}, {"b", 1}}},
                                         {"Gamma", {{"k", 0.3}, {"theta", 2}}},
                                         {"Gamma", {{"k", 0.999}, {"theta", 1}}},
                                         {"Gamma", {{"k", 1}, {"theta", 0.5}}},
                                         {"Gamma", {{"k", 2.5}, {"theta", 3}}},
                                         {"Gamma", {{"k", 100}, {"theta", 1}}}}) {
    CAPTURE(c.name);
    for (const Dtype dtype : {Dtype::float32, Dtype::float64}) check_continuous(*one(c.name, c.parameters, dtype));
  }
  // What float32 cannot hold, or could not tell apart.
  check_continuous(*one("Gamma", {{"k", 0.01}, {"theta", 1}}, Dtype::float64));
  check_continuous(*one("Gamma", {{"k", 3e7}, {"theta", 1}}, Dtype::float64));
}

TEST_CASE("distributions: discrete samples are what their cdf says") {
  random::seed(21);
  for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
    for (const double lam : {0.1, 3.0, 9.99, 10.0, 12.5, 70.0, 4000.0}) {
      CAPTURE(lam);
      check_discrete(*one("Poisson", {{"lam", lam}}, dtype), 0, static_cast<int64_t>(lam + 8 * std::sqrt(lam) + 8));
    }
    for (const double p : {0.02, 0.5, 0.97}) check_discrete(*one("Geometric", {{"p", p}}, dtype), 1, 1000);
    for (const double p : {0.1, 0.5, 0.99}) check_discrete(*one("Bernoulli", {{"p", p}}, dtype), 0, 1);
  }
  const std::vector<double> shares = {0.1, 0, 0.6, 0.05, 0.25};
  const Variable p(array(shares).to_device(test_device()), false);
  const auto up_to = [&](int64_t k) {
    double sum = 0;
    for (int64_t i = 0; i <= k; ++i) sum += shares[static_cast<size_t>(i)];
    return sum;
  };
  const Variable index = D::Categorical(p).sample({kSamples});
  CHECK(index.dtype() == Dtype::int32);
  check_counts(index.to_vector<double>(), 0, 4, up_to);
  const Variable one_hot = D::OneHotCategorical(p).sample({kSamples});
  CHECK(one_hot.shape() == Shape{kSamples, 5});
  const std::vector<double> flags = one_hot.to_vector<double>();
  std::vector<double> places;
  for (size_t i = 0; i < flags.size(); ++i) {
    if (flags[i] == 1) places.push_back(static_cast<double>(i % 5));
  }
  CHECK(places.size() == kSamples);
  check_counts(places, 0, 4, up_to);
}

TEST_CASE("distributions: samples of vectors have their mean and covariance") {
  random::seed(22);
  const Variable alpha(array<double>({0.4, 2, 1.5}).to_device(test_device()), false);
  const Variable loc(array<double>({1, -2, 0.5}).to_device(test_device()), false);
  const Variable tril(array<double>({2, 9, 9, 0.5, 1, 9, -1, 0.3, 0.7}, {3, 3}).to_device(test_device()), false);
  const D::Dirichlet dirichlet(alpha);
  const D::MultivariateNormal normal(loc, {.scale_tril = tril});
  for (const D::Distribution* d :
       {static_cast<const D::Distribution*>(&dirichlet), static_cast<const D::Distribution*>(&normal)}) {
    const std::vector<double> x = d->sample({kSamples}).to_vector<double>(), mean = d->mean().to_vector<double>(),
                              covariance = d->covariance().to_vector<double>();
    for (size_t i = 0; i < 3; ++i) {
      for (size_t j = 0; j < 3; ++j) {
        double sum = 0, product = 0, square = 0;
        for (size_t k = 0; k < x.size(); k += 3) {
          const double u = x[k + i] - mean[i], v = x[k + j] - mean[j];
          sum += u, product += u * v, square += u * v * u * v;
        }
        const auto n = static_cast<double>(kSamples);
        // Within 5 standard errors.
        CHECK(std::abs(sum / n) < 5 * std::sqrt(covariance[4 * i] / n));
        CHECK(std::abs(product / n - covariance[3 * i + j]) < 5 * std::sqrt(square / n / n));
      }
    }
  }
}

TEST_CASE("distributions: samples move with the parameters as their gradients say") {
  check_sample_gradient("Normal", {{"loc", number(1)}, {"scale", number(2)}});
  check_sample_gradient("Uniform", {{"low", number(1)}, {"high", number(2)}});
  check_sample_gradient("Exponential", {{"lam", number(1.5)}});
  check_sample_gradient("Laplace", {{"loc", number(1)}, {"scale", number(2)}});
  check_sample_gradient("Gumbel", {{"loc", number(1)}, {"scale", number(2)}});
  check_sample_gradient("Cauchy", {{"loc", number(1)}, {"scale", number(2)}});
  check_sample_gradient("LogNormal", {{"mu", number(0.1)}, {"sigma", number(0.4)}});
  check_sample_gradient("Pareto", {{"scale", number(1)}, {"alpha", number(2)}});
  const Variable loc(array<double>({1, 2}).to_device(test_device()));
  const Variable tril(array<double>({2, 0, 0.5, 1}, {2, 2}).to_device(test_device()));
  check_sample_gradient("MultivariateNormal", {{"loc", loc}, {"scale_tril", tril}});
}

// A sample z of shape k keeps its share P(k, z): dz/dk = -(dP/dk) / (dP/dz).
TEST_CASE("distributions: gradients of gamma samples keep their share") {
  for (const double shape : {0.05, 0.7, 1.0, 4.0, 60.0, 5000.0, 2e6}) {
    CAPTURE(shape);
    random::seed(5);
    const Variable k = Variable(full({40}, shape, Dtype::float64, test_device())), theta = number(1.5);
    const Variable z = D::Gamma(k, theta).sample();
    const std::vector<double> slope = grad({F::sum(z)}, {k})[0].to_vector<double>();
    const Variable at(z.array() / 1.5), share = F::gammainc(k, at);
    const Variables parts = grad({F::sum(share)}, {k, at});
    const std::vector<double> by_k = parts[0].to_vector<double>(), by_z = parts[1].to_vector<double>();
    for (size_t i = 0; i < slope.size(); ++i) {
      if (by_z[i] > 1e-300) CHECK(slope[i] == doctest::Approx(-1.5 * by_k[i] / by_z[i]).epsilon(1e-6));
    }
    CHECK(grad({F::sum(z)}, {theta})[0].item<double>() == doctest::Approx(F::sum(z).item<double>() / 1.5));
  }
  // Where samples are 0, gradients are too.
  const Variable tiny = number(1e-4, Dtype::float32);
  const Variable z = D::Gamma(tiny, 1).sample({200});
  for (const double s : grad({F::sum(z)}, {tiny})[0].to_vector<double>()) CHECK(std::isfinite(s));
  const Variable twice = grad({F::sum(z)}, {tiny}, {.enable_double_backprop = true})[0];
  CHECK_THROWS_AS(grad({twice}, {tiny}), StateError);
}

// Of the mean of beta and Dirichlet samples, whose gradients are known.
TEST_CASE("distributions: gradients of samples are right in the mean") {
  random::seed(6);
  const Variable a = number(1.5), b = number(0.6);
  const Variable x = D::Beta(a, b).sample({kSamples});
  const Variables slope = grad({F::sum(x) / static_cast<double>(kSamples)}, {a, b});
  CHECK(slope[0].item<double>() == doctest::Approx(0.6 / (2.1 * 2.1)).epsilon(0.03));
  CHECK(slope[1].item<double>() == doctest::Approx(-1.5 / (2.1 * 2.1)).epsilon(0.03));
  // Far below what float32 can hold before the shares are taken.
  const Variable alpha(full({4}, 1e-3, Dtype::float32, test_device()));
  const Variable shares = D::Dirichlet(alpha).sample({100});
  for (const double total : F::sum(shares, 1).to_vector<double>()) CHECK(total == doctest::Approx(1));
  for (const double s : grad({F::sum(F::pow(shares, 2))}, {alpha})[0].to_vector<double>()) CHECK(std::isfinite(s));
}

TEST_CASE("distributions: samples of invalid parameters are NaN, not endless") {
  const Variable k(array<double>({-1, 0, NAN}).to_device(test_device()), false);
  for (const double z : D::Gamma(k, 1).sample({2}).to_vector<double>()) CHECK(std::isnan(z));
  const Variable lam(array<double>({-1, NAN}).to_device(test_device()), false);
  for (const double n : D::Poisson(lam).sample({2}).to_vector<double>()) CHECK(std::isnan(n));
  CHECK(D::Poisson(number(0)).sample().item<double>() == 0);
}

TEST_CASE("distributions: shapes of samples, and the same numbers again") {
  const Variable loc(zeros({3, 2}, Dtype::float64, test_device())), scale(ones({2}, Dtype::float64, test_device()));
  const D::Normal d(loc, scale);
  CHECK(d.batch_shape() == Shape{3, 2});
  CHECK(d.sample().shape() == Shape{3, 2});
  CHECK(d.sample({4, 1}).shape() == Shape{4, 1, 3, 2});
  CHECK(d.sample_n(0).shape() == Shape{0, 3, 2});
  CHECK_THROWS_AS(d.sample({-1}), ValueError);
  for (const char* name : {"Gamma", "Poisson"}) {
    const auto draw = [&](int64_t n) {
      random::seed(3);
      return (name[0] == 'G' ? one(name, {{"k", 0.5}, {"theta", 1}}, Dtype::float64)
                             : one(name, {{"lam", 20}}, Dtype::float64))
          ->sample({n})
          .to_vector<double>();
    };
    const std::vector<double> few = draw(10), many = draw(5000);
    CHECK(std::equal(few.begin(), few.end(), many.begin()));  // each from its place alone
    const int threads = num_threads();
    set_num_threads(threads == 1 ? 3 : 1);
    CHECK(draw(5000) == many);
    set_num_threads(threads);
  }
  const Variable half(full({100}, 0.3, Dtype::float16, test_device()), false);
  for (const double x : D::Gumbel(half, half).sample({50}).to_vector<double>()) REQUIRE(std::isfinite(x));
  for (const double x : D::Laplace(half, half).sample({50}).to_vector<double>()) REQUIRE(std::isfinite(x));
  for (const double x : D::Exponential(half).sample({50}).to_vector<double>()) REQUIRE(std::isfinite(x));
}
