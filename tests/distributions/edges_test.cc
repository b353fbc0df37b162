#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/distributions/kl_divergence.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/kernels/array_math.h"
#include "kusari/tests/distributions/distribution_maker.h"
#include "kusari/tests/functions/testing.h"

using namespace kusari;
using namespace kusari::testing;

namespace {

/// A distribution, and numbers inside of its support, at its edges, outside and far away.
struct Edge {
  const char* distribution;
  std::vector<std::pair<const char*, double>> parameters;
  std::vector<double> x;
};

const std::vector<Edge>& edges() {
  static const std::vector<double> line = {0,    0.5, -0.5, 1,   -1,   5,    -5,    12,  -12,  50,   -50,  104,
                                           -104, 110, -110, 300, -300, 1000, -1000, 6e4, -6e4, 1e20, -1e20};
  static const std::vector<double> half = {0,    0.5,  1,    2,     3,     12,    110,  200, 1000, 6e4,
                                           1e20, 1e-4, 1e-7, 1e-30, -1e-7, -1e-4, -0.5, -1,  -110, -1e20};
  static const std::vector<double> unit = {0, 1, 0.5, 1e-3, 1e-7, 1e-30, 0.999, -1e-7, 1.001, -1, 2, 1e20, -1e20};
  static const std::vector<double> counts = {0, 1, 2, 3, 0.5, 1.5, -1, -0.5, 12, 100, 2000, 6e4, -1e20};
  static const std::vector<double> bits = {0, 1, -1, 2, 0.5, 1e3, -1e3};
  static const std::vector<Edge> list = {
      {"Bernoulli", {{"p", 0.25}}, bits},
      {"Bernoulli", {{"p", 0}}, bits},
      {"Bernoulli", {{"p", 1}}, bits},
      {"Beta", {{"a", 2}, {"b", 2}}, unit},
      {"Beta", {{"a", 0.5}, {"b", 0.5}}, unit},
      {"Beta", {{"a", 1}, {"b", 1}}, unit},
      {"Beta", {{"a", 1}, {"b", 3}}, unit},
      {"Beta", {{"a", 30}, {"b", 0.25}}, unit},
      {"Cauchy", {{"loc", 0}, {"scale", 1}}, line},
      {"Chisquare", {{"k", 1}}, half},
      {"Chisquare", {{"k", 2}}, half},
      {"Chisquare", {{"k", 6}}, half},
      {"Exponential", {{"lam", 2}}, half},
      {"Gamma", {{"k", 3}, {"theta", 1}}, half},
      {"Gamma", {{"k", 1}, {"theta", 2}}, half},
      {"Gamma", {{"k", 0.5}, {"theta", 2}}, half},
      {"Geometric", {{"p", 0.25}}, counts},
      {"Geometric", {{"p", 1}}, counts},
      {"Gumbel", {{"loc", 0}, {"scale", 1}}, line},
      {"Laplace", {{"loc", 0}, {"scale", 1}}, line},
      {"Laplace", {{"loc", 1}, {"scale", 2}}, line},
      {"LogNormal", {{"mu", 0}, {"sigma", 1}}, half},
      {"Normal", {{"loc", 0}, {"scale", 1}}, line},
      {"Pareto", {{"scale", 1}, {"alpha", 2}}, half},
      {"Poisson", {{"lam", 3}}, counts},
      {"Poisson", {{"lam", 0}}, counts},
      {"Uniform", {{"low", 0}, {"high", 1}}, unit},
  };
  return list;
}

const std::vector<std::string> kMethods = {
    "log_prob", "prob", "cdf", "log_cdf", "survival_function", "log_survival_function", "icdf"};

/// The numbers as the dtype has them, those that it has.
std::vector<double> numbers_of(std::vector<double> x, Dtype dtype) {
  x = array(x).astype(dtype).to_vector<double>();
  std::erase_if(x, [](double number) { return std::isinf(number); });
  return x;
}

/// Those of the table and drawn ones; shares for icdf, not so small that a quantile in float16 is infinite.
std::vector<double> numbers_for(const Edge& edge, const std::string& method, Dtype dtype, uint64_t seed) {
  std::vector<double> x = edge.x;
  if (method == "icdf") {
    x = {0, 0.25, 0.5, 1, -1, 2, 1e-3, 0.999};
    if (dtype != Dtype::float16) x.insert(x.end(), {1e-7, 1e-20});
  }
  for (const double drawn : uniform({8}, -1, 3, seed).to_vector<double>()) x.push_back(drawn);
  return numbers_of(x, dtype);
}

using Slopes = std::vector<std::vector<double>>;

/// Each number with parameters of its own. Slopes are those by the parameters and by x, zeros where there is none.
struct Answer {
  std::vector<double> y;
  Slopes slopes;
  Slopes masked;  // of y where that is finite, else 0
};

Answer answer(const Edge& edge, const std::string& method, const std::vector<double>& x, Dtype dtype) {
  const auto count = static_cast<int64_t>(x.size());
  Variables inputs;
  Parameters parameters;
  for (const auto& [name, value] : edge.parameters) {
    inputs.emplace_back(full({count}, value, dtype, test_device()), true);
    parameters[name] = inputs.back();
  }
  inputs.emplace_back(array(x).astype(dtype).to_device(test_device()), true);
  const Variable y = ask(*make_distribution(edge.distribution, parameters), method, inputs.back());
  const auto slopes_of = [&](const Variable& of) {
    Slopes slopes;
    for (const Variable& g : of.requires_grad() ? grad({of}, inputs) : Variables(inputs.size())) {
      slopes.push_back(g.is_defined() ? g.to_vector<double>() : std::vector<double>(x.size()));
    }
    return slopes;
  };
  return {y.to_vector<double>(), slopes_of(y), slopes_of(F::where(xp::isfinite(y.array()), y, zeros_like(y.array())))};
}

Variable on(std::initializer_list<double> values, Dtype dtype = Dtype::float64) {
  return Variable(array(values).astype(dtype).to_device(test_device()), true);
}

double slope(const Variable& y, const Variable& x) { return F::sum(grad({y}, {x})[0]).item<double>(); }

void check_no_nan(const Variable& y, const Variables& inputs) {
  for (const double value : y.to_vector<double>()) CHECK(!std::isnan(value));
  for (const Variable& g : grad({y}, inputs)) {
    REQUIRE(g.is_defined());
    for (const double value : g.to_vector<double>()) CHECK(!std::isnan(value));
  }
}

}  // namespace

// What would make a NaN of the sum over a batch, in the gradients of parameters that all of it shares.
TEST_CASE("distributions: no number, wherever it is, spoils a gradient") {
  uint64_t seed = 1;
  for (const Edge& edge : edges()) {
    CAPTURE(edge.distribution);
    CAPTURE(edge.parameters[0].second);
    for (const std::string& method : kMethods) {
      CAPTURE(method);
      for (const Dtype dtype : {Dtype::float64, Dtype::float32, Dtype::float16}) {
        CAPTURE(kusari::name(dtype));
        const std::vector<double> x = numbers_for(edge, method, dtype, seed++);
        const Answer got = answer(edge, method, x, dtype);
        for (size_t i = 0; i < x.size(); ++i) {
          CAPTURE(x[i]);
          CAPTURE(got.y[i]);
          const bool is_undefined = method == "icdf" && (x[i] < 0 || x[i] > 1);
          CHECK(std::isnan(got.y[i]) == is_undefined);
          for (size_t k = 0; k < got.slopes.size(); ++k) {
            CAPTURE(k);
            CHECK(!std::isnan(got.slopes[k][i]));
            if (!std::isfinite(got.y[i])) CHECK(got.masked[k][i] == 0);
          }
        }
      }
    }
  }
}

TEST_CASE("distributions: logarithms in float32 reach as far as in float64") {
  for (const Edge& edge : edges()) {
    CAPTURE(edge.distribution);
    CAPTURE(edge.parameters[0].second);
    for (const std::string method : {"log_prob", "log_cdf", "log_survival_function"}) {
      CAPTURE(method);
      const std::vector<double> x = numbers_of(edge.x, Dtype::float32);
      const Answer narrow = answer(edge, method, x, Dtype::float32), wide = answer(edge, method, x, Dtype::float64);
      const auto check_same = [](double a, double b) {
        if (std::abs(b) > 3e38) return;  // more than float32 has
        CHECK(std::abs(a - b) <= 1e-5 * std::abs(b) + 1e-24);
      };
      for (size_t i = 0; i < x.size(); ++i) {
        CAPTURE(x[i]);
        check_same(narrow.y[i], wide.y[i]);
        if (!std::isfinite(narrow.y[i])) continue;
        for (size_t k = 0; k < wide.slopes.size(); ++k) {
          CAPTURE(k);
          check_same(narrow.slopes[k][i], wide.slopes[k][i]);
        }
      }
    }
  }
}

TEST_CASE("distributions: tails of logarithms") {
  const double log_2 = std::log(2.0);
  for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
    CAPTURE(kusari::name(dtype));
    const double limit = dtype == Dtype::float32 ? 1e-6 : 1e-14;
    const auto same = [&](const Variable& y, double expected) {
      CHECK(y.item<double>() == doctest::Approx(expected).epsilon(limit));
    };
    const Variable zero = on({0}, dtype), one = on({1}, dtype), three = on({3}, dtype);
    const D::Laplace laplace(zero, one);
    for (const double far : {50.0, 104.0, 110.0, 1000.0}) {
      const Variable x = on({far}, dtype);
      same(laplace.log_cdf(-x), -far - log_2);
      same(laplace.log_survival_function(x), -far - log_2);
      CHECK(slope(laplace.log_cdf(-x), zero) == -1);
      CHECK(slope(laplace.log_survival_function(x), one) == far);
      same(D::Gumbel(zero, one).log_survival_function(x), -far);
      CHECK(slope(D::Gumbel(zero, one).log_survival_function(x), zero) == doctest::Approx(1));
    }
    same(laplace.log_cdf(on({20}, dtype)), -std::exp(-20.0) / 2);
    CHECK(slope(laplace.cdf(zero), one) == 0);
    const Variable middle = on({0}, dtype);
    CHECK(slope(laplace.cdf(middle), middle) == 0.5);
    CHECK(slope(laplace.survival_function(middle), middle) == -0.5);
    for (const double z : {7.9, 8.1}) {
      const Variable x = on({z}, dtype);
      const double at = x.item<double>();
      same(D::Gumbel(zero, one).log_survival_function(x), std::log(-std::expm1(-std::exp(-at))));
    }
    same(D::Exponential(one).log_cdf(on({30}, dtype)), -std::exp(-30.0));
    same(D::Cauchy(zero, one).log_prob(on({1e20}, dtype)), -40 * std::log(10.0) - std::log(M_PI));
    same(D::Cauchy(zero, one).log_cdf(on({-1e20}, dtype)), -20 * std::log(10.0) - std::log(M_PI));
    same(D::Gamma(three, one).log_survival_function(on({200}, dtype)), std::log(1 + 200 + 2e4) - 200);
    // log(gammainc) and log(gammaincc), by mpmath.
    same(D::Gamma(three, one).log_survival_function(on({1000}, dtype)), -986.87563662392706);
    same(D::Poisson(on({200}, dtype)).log_survival_function(on({1000}, dtype)), -815.19866661071461);
    same(D::Poisson(on({2000}, dtype)).log_cdf(on({10}, dtype)), -1939.0903779584700);
    same(D::Gamma(three, one).log_cdf(on({1e-30}, dtype)), -90 * std::log(10.0) - std::log(6.0));
    CHECK(D::Cauchy(zero, one).icdf(on({0.5}, dtype)).item<double>() == 0);
  }
}

TEST_CASE("distributions: what is left of a probability of nearly 1") {
  for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
    CAPTURE(kusari::name(dtype));
    const auto same = [](const Variable& y, double expected) {
      CHECK(y.item<double>() == doctest::Approx(expected).epsilon(1e-5).scale(0));
    };
    const Variable zero = on({0}, dtype);
    for (const double l : {20.0, 80.0, 1000.0}) {
      CAPTURE(l);
      const D::Bernoulli often({.logit = on({l}, dtype)}), seldom({.logit = on({-l}, dtype)});
      same(often.log_cdf(zero), -l);
      same(seldom.log_survival_function(zero), -l);
      if (l > 80) continue;  // less than float32 has
      same(often.prob(zero), std::exp(-l));
      same(often.cdf(zero), std::exp(-l));
      same(seldom.survival_function(zero), std::exp(-l));
    }
    const Variable logit(array<double>({0, 200, 100}).astype(dtype).to_device(test_device()), true);
    const D::Categorical choice({.logit = logit});
    for (const double x : {-1.0, 0.0, 1.0, 2.0}) {
      check_no_nan(choice.log_cdf(on({x}, dtype)), {logit});
      check_no_nan(choice.log_survival_function(on({x}, dtype)), {logit});
    }
    same(choice.log_cdf(zero), -200);
    same(choice.log_survival_function(on({1}, dtype)), -100);
    CHECK(slope(choice.log_cdf(on({-1}, dtype)), logit) == 0);
    check_no_nan(choice.stddev(), {logit});
    check_no_nan(D::Bernoulli({.logit = logit}).stddev(), {logit});
    // 1 - x^a, and (1 - x)^b where that is small.
    const Variable a = on({0.01}, dtype), one = on({1}, dtype), tiny = on({1e-20}, dtype), small = on({1e-3}, dtype);
    same(D::Beta(a, one).survival_function(tiny), -std::expm1(-0.2 * std::log(10.0)));
    same(D::Beta(a, one).log_survival_function(tiny), std::log(-std::expm1(-0.2 * std::log(10.0))));
    same(D::Beta(one, on({5e4}, dtype)).survival_function(small), std::exp(5e4 * std::log1p(-1e-3)));
    check_no_nan(D::Beta(a, one).survival_function(tiny), {a, one, tiny});
  }
}

// Whose variances and products of parameters would not fit, or leave nothing.
TEST_CASE("distributions: sizes near the ends of a dtype") {
  const auto check_of = [](const char* name, const Parameters& parameters, const char* what, double expected) {
    CAPTURE(name);
    CHECK(ask(*make_distribution(name, parameters), what, Variable()).item<double>() ==
          doctest::Approx(expected).epsilon(4e-3).scale(0));
  };
  const Dtype half = Dtype::float16;
  const Variable loc = on({0}, half), scale = on({1000}, half);
  check_of("Gumbel", {{"loc", loc}, {"scale", scale}}, "stddev", 1000 * M_PI / std::sqrt(6.0));
  check_of("Laplace", {{"loc", loc}, {"scale", scale}}, "stddev", 1000 * std::sqrt(2.0));
  check_of("Laplace", {{"loc", loc}, {"scale", on({4e4}, half)}}, "entropy", std::log(8e4) + 1);
  check_of("Cauchy", {{"loc", loc}, {"scale", scale * 10}}, "entropy", std::log(4e4 * M_PI));
  check_of("Uniform", {{"low", loc}, {"high", scale}}, "stddev", 1000 / std::sqrt(12.0));
  check_of("Uniform", {{"low", loc}, {"high", on({500}, half)}}, "variance", 25e4 / 12);
  check_of("Exponential", {{"lam", scale}}, "stddev", 1e-3);
  check_of("Gamma", {{"k", on({100}, half)}, {"theta", scale}}, "stddev", 1e4);
  check_of("Geometric", {{"p", on({1.0 / 1024}, half)}}, "stddev", std::sqrt(1 - 1.0 / 1024) * 1024);
  check_of("Beta", {{"a", scale}, {"b", scale}}, "variance", 1 / (4 * 2001.0));
  check_of("Pareto", {{"scale", scale}, {"alpha", on({100}, half)}}, "mean", 1e5 / 99);
  check_of("Pareto", {{"scale", scale * 5}, {"alpha", on({100}, half)}}, "variance", 25e8 / (99 * 99 * 98.0));
  const Variable narrow = on({-60}, Dtype::float32), wide = on({10}, Dtype::float32);
  check_of("LogNormal", {{"mu", narrow}, {"sigma", wide}}, "variance", std::exp(80.0));
  const Variable mu = on({0, 0, 0}, half), sigma = on({0, 1, 6}, half);
  check_no_nan(D::LogNormal(mu, sigma).variance(), {mu, sigma});
  check_no_nan(D::LogNormal(mu, sigma).stddev(), {mu, sigma});
  check_of("LogNormal", {{"mu", narrow + 70}, {"sigma", on({8}, Dtype::float32)}}, "stddev", std::exp(74.0));
}

TEST_CASE("distributions: the divergence of near Poisson distributions") {
  const double p = 18876, q = 18976;
  const Variable y = D::kl_divergence(D::Poisson(on({p}, Dtype::float32)), D::Poisson(on({q}, Dtype::float32)));
  CHECK(y.item<double>() == doctest::Approx(p * std::log(p / q) - p + q).epsilon(1e-6));
}

TEST_CASE("distributions: slopes of the tails of gamma distributions") {
  const Arrays far = {on({3, 40}).array(), on({1, 2}).array(), on({1000, 3000}).array()};
  const auto above = [](const Variable& k, const Variable& theta, const Variable& x) {
    return D::Gamma(k, theta).log_survival_function(x);
  };
  CHECK_NOTHROW(gradient_check::check_backward(above, far, {}, {.atol = 1e-5, .rtol = 1e-4}));
  const Arrays near = {on({400, 2000}).array(), on({1, 2}).array(), on({2, 900}).array()};
  const auto below = [](const Variable& k, const Variable& theta, const Variable& x) {
    return D::Gamma(k, theta).log_cdf(x);
  };
  CHECK_NOTHROW(gradient_check::check_backward(below, near, {}, {.atol = 1e-5, .rtol = 1e-4}));
}

// Where a logarithm of the probability has none, and where a support has its edge.
TEST_CASE("distributions: slopes at the edges") {
  const Variable sure = on({1}), none = on({0});
  CHECK(slope(D::Geometric(sure).prob(on({1, 2, 3})), sure) == 1 - 1);
  CHECK(slope(D::Geometric(sure).prob(on({2})), sure) == -1);
  CHECK(slope(D::Geometric(sure).cdf(on({1})), sure) == 1);
  CHECK(slope(D::Geometric(sure).cdf(on({2})), sure) == 0);
  CHECK(slope(D::Geometric(sure).survival_function(on({1})), sure) == -1);
  CHECK(D::Geometric(sure).icdf(on({1})).item<double>() == 1);
  CHECK(slope(D::Poisson(none).prob(on({0})), none) == -1);
  CHECK(slope(D::Poisson(none).prob(on({1})), none) == 1);
  CHECK(slope(D::Poisson(none).prob(on({2})), none) == 0);
  const Variable k = on({1}), theta = on({2});
  CHECK(slope(D::Gamma(k, theta).prob(on({0})), theta) == -0.25);
  CHECK(slope(D::Gamma(k, theta).log_prob(on({0})), theta) == -0.5);
  for (const std::string method : {"log_prob", "cdf", "log_cdf", "log_survival_function"}) {
    CAPTURE(method);
    for (const char* const name : {"Cauchy", "Gumbel", "Laplace", "Normal"}) {
      CHECK(std::isnan(
          ask(*make_distribution(name, {{"loc", none}, {"scale", sure}}), method, on({NAN})).item<double>()));
    }
  }
  CHECK(std::isnan(D::Uniform(none, sure).log_cdf(on({NAN})).item<double>()));
  const Variable x = on({0});
  CHECK(slope(D::Exponential(theta).icdf(x), x) == 0.5);
}

TEST_CASE("distributions: edges of vectors, of certain probabilities and of entropies") {
  const Variable p = on({0, 1}), alpha = on({2, 0.5, 1});
  check_no_nan(D::Categorical(p).log_prob(on({1, 1})), {p});
  check_no_nan(D::Categorical(p).prob(on({0, 1, 2, -1, 0.5})), {p});
  check_no_nan(D::Categorical(p).log_cdf(on({0, 1, -1})), {p});
  check_no_nan(D::Categorical(p).log_survival_function(on({0, 1, -1})), {p});
  check_no_nan(D::Categorical(p).entropy(), {p});
  const Variable one_hot(array<double>({0, 1, 1, 0}, {2, 2}).to_device(test_device()), true);
  check_no_nan(D::OneHotCategorical(p).prob(one_hot), {p, one_hot});
  check_no_nan(D::Bernoulli(p).entropy(), {p});
  const Variable half = on({0.5, 0.5}), far_logit = on({1e4, -1e4});
  check_no_nan(D::kl_divergence(D::Bernoulli(p), D::Bernoulli(half)), {p, half});
  check_no_nan(D::kl_divergence(D::Bernoulli(p), D::Bernoulli(p)), {p});
  check_no_nan(D::kl_divergence(D::Bernoulli({.logit = far_logit}), D::Bernoulli(half)), {far_logit, half});
  check_close(D::kl_divergence(D::Bernoulli(p), D::Bernoulli(half)), {2}, {std::log(2.0), std::log(2.0)});
  const Variable sure = on({1}), none = on({0});
  check_no_nan(D::Geometric(sure).entropy(), {sure});
  check_no_nan(D::Poisson(none).entropy(), {none});
  const Variable shares(
      array<double>({0, 0.5, 0.5, 0.5, 0, 0.5, 0.5, 0.5, 0, -0.5, 1, 0.5}, {4, 3}).to_device(test_device()), true);
  check_no_nan(D::Dirichlet(alpha).prob(shares), {alpha, shares});
  check_no_nan(D::Dirichlet(alpha).log_prob(shares), {alpha, shares});
  const Variable loc = on({0, 0}), far(array<double>({1e200, 0, -40, 3}, {2, 2}).to_device(test_device()), true);
  const Variable tril(array<double>({1, 0, 0.5, 2}, {2, 2}).to_device(test_device()), true);
  check_no_nan(D::MultivariateNormal(loc, {.scale_tril = tril}).prob(far), {loc, tril, far});
  const Variable shape = on({3, 2}), x(array<double>({0, 0, -1, 2, 3, 1}, {3, 2}).to_device(test_device()), true);
  for (const std::string& method : kMethods) {
    if (method == "icdf") continue;  // not offered
    CAPTURE(method);
    check_no_nan(ask(D::Independent(D::Gamma(shape, 1), 1), method, x), {shape, x});
  }
}
