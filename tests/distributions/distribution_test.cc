#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/distributions/kl_divergence.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/tests/distributions/distribution_maker.h"
#include "kusari/tests/functions/testing.h"

using namespace kusari;
using namespace kusari::testing;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

Variable row(std::initializer_list<double> values) { return Variable(on_test_device(array(values)), true); }

/// A distribution as a user writes one: a point.
class Point final : public D::DistributionOf<Point> {
 public:
  explicit Point(const Variable& at) : DistributionOf("Point", at, at.shape()), at_{at} {}
  const Variable& at() const { return at_; }
  std::vector<std::pair<std::string, Variable>> params() const override { return {{"at", at_}}; }
  std::string support() const override { return "{at}"; }
  Variable mean() const override { return at_; }

 private:
  Variable do_log_prob(const Variable& x) const override { return F::log(Variable((x == at_).astype(dtype()), false)); }

  Variable at_;
};

}  // namespace

TEST_CASE("distributions: parameters are variables, arrays or numbers") {
  const D::Normal standard(0, 1);
  CHECK(standard.batch_shape() == Shape{});
  CHECK(standard.dtype() == Dtype::float32);
  const Array loc = on_test_device(array<double>({1, 2, 3}));
  const D::Normal wide(loc, 2);
  CHECK(wide.dtype() == Dtype::float64);
  CHECK(wide.scale().shape() == Shape{3});
  CHECK(!wide.loc().requires_grad());
  const Variable log_scale = row({std::log(2.0)});
  const D::Normal same(loc, {.log_scale = log_scale});
  check_close(same.variance(), {3}, {4, 4, 4});
  CHECK(same.params()[1].first == "log_scale");
  CHECK(same.scale().requires_grad());
  const D::Uniform range({.loc = 1, .scale = 2});
  CHECK(range.high().item<double>() == 3);
  CHECK(D::Categorical({.logit = row({0, std::log(3.0)})}).p().to_vector<double>()[1] == doctest::Approx(0.75));

  CHECK_THROWS_WITH_AS(D::Normal(loc, D::NormalScale{}),
                       "D::Normal: none of scale and log_scale is given: it must be one of them", ValueError);
  CHECK_THROWS_WITH_AS(D::Bernoulli({.p = 0.5, .logit = 0}),
                       "D::Bernoulli: both of p and logit is given: it must be one of them", ValueError);
  CHECK_THROWS_WITH_AS(D::Normal(int_ones({2}), 1), "D::Normal: loc has dtype int64: loc.dtype must be floating",
                       TypeError);
  CHECK_THROWS_WITH_AS(D::Normal(loc, loc.astype(Dtype::float32)),
                       "D::Normal: loc has dtype float64 but scale has dtype float32: they must be the same",
                       TypeError);
  CHECK_THROWS_AS(D::Normal(loc, row({1, 2})), TypeError);
  CHECK_THROWS_WITH_AS(D::Normal(0, -1), "D::Normal: scale is -1: it must not be negative", ValueError);
  CHECK_NOTHROW(D::Normal(loc, D::NormalScale{.log_scale = -1}));
  CHECK_THROWS_WITH_AS(D::Laplace(0, -0.5), "D::Laplace: scale is -0.5: it must not be negative", ValueError);
  CHECK_THROWS_WITH_AS(D::Gamma(1, -2), "D::Gamma: theta is -2: it must not be negative", ValueError);
  CHECK_THROWS_WITH_AS(D::Poisson(array<double>({1, -3, 2})), "D::Poisson: lam is -3: it must not be negative",
                       ValueError);
  CHECK_THROWS_WITH_AS(D::Uniform({.loc = 1, .scale = -1}), "D::Uniform: scale is -1: it must not be negative",
                       ValueError);
  CHECK_NOTHROW(D::Normal(array<double>({-1}), array<double>({0})));
  CHECK_THROWS_AS(D::Uniform({.low = 1, .scale = 2}), ValueError);
  CHECK_THROWS_AS(D::Uniform(D::UniformParameters{.low = 1}), TypeError);
  CHECK_THROWS_AS(D::Normal(Variable(), 1), TypeError);
  CHECK_THROWS_AS(D::Dirichlet(row({1}).array().reshape({})), TypeError);
  CHECK_THROWS_AS(D::Categorical(zeros({2, 0})), TypeError);
  CHECK_THROWS_AS(D::MultivariateNormal(loc, {.scale_tril = ones({2, 2}, Dtype::float64, test_device())}), TypeError);
}

TEST_CASE("distributions: values broadcast with the batch") {
  const D::Normal d(on_test_device(zeros({3, 1}, Dtype::float64)), on_test_device(ones({2}, Dtype::float64)));
  CHECK(d.log_prob(row({0})).shape() == Shape{3, 2});
  CHECK(d.cdf(on_test_device(zeros({4, 1, 1}, Dtype::float64))).shape() == Shape{4, 3, 2});
  CHECK(d.log_prob(int_ones({})).shape() == Shape{3, 2});  // integers are numbers
  CHECK_THROWS_WITH_AS(d.log_prob(on_test_device(zeros({}, Dtype::float32))),
                       "D::Normal::log_prob: x has dtype float32 but the parameters have float64: x must have theirs, "
                       "or integers",
                       TypeError);
  CHECK_THROWS_AS(d.cdf(row({1, 2, 3})), TypeError);
  CHECK_THROWS_WITH_AS(d.icdf(Variable()), "D::Normal::icdf: p is not given: it is required", TypeError);
  const D::Dirichlet shares(row({1, 2, 3}));
  CHECK(shares.event_shape() == Shape{3});
  CHECK(shares.batch_shape() == Shape{});
  CHECK_THROWS_WITH_AS(shares.log_prob(row({1, 2})),
                       "D::Dirichlet::log_prob: x has shape (2,): its last axes must be those of a sample, (3,)",
                       TypeError);
  CHECK_THROWS_WITH_AS(shares.cdf(row({1, 0, 0})), "D::Dirichlet::cdf: this distribution does not offer it", TypeError);
}

TEST_CASE("distributions: edges of the discrete ones") {
  const D::Bernoulli fair(row({0.25})), checked({.p = row({0.25}), .binary_check = true});
  check_close(fair.prob(row({0, 1, 0.5})), {3}, {0.75, 0.25, 0.5});
  check_close(checked.prob(row({0, 1, 0.5})), {3}, {0.75, 0.25, 0});
  check_close(checked.log_prob(row({0, 1, 0.5})), {3}, {std::log(0.75), std::log(0.25), -kInf});
  check_close(fair.icdf(row({0, 0.75, 0.76, 1, 2})), {5}, {0, 0, 1, 1, NAN});
  const D::Bernoulli sure({.logit = row({kInf, -kInf})});
  check_close(sure.log_prob(row({1, 0})), {2}, {0, 0});
  check_close(sure.log_prob(row({0, 1})), {2}, {-kInf, -kInf});
  check_close(sure.entropy(), {2}, {0, 0});
  check_close(D::Geometric(row({0.5})).prob(row({0, 1, 2, 1.5})), {4}, {0, 0.5, 0.25, 0});
  check_close(D::Geometric(row({1})).prob(row({1, 2})), {2}, {1, 0});
  check_close(D::Poisson(row({0})).prob(row({0, 1})), {2}, {1, 0});
  check_close(D::Categorical(row({0, 1})).log_prob(row({0, 1, 2, -1, 0.5, NAN})), {6},
              {-kInf, 0, -kInf, -kInf, -kInf, -kInf});
  check_close(D::Categorical(row({0, 1})).entropy(), {}, {0});
  CHECK(D::Categorical(row({0.2, 0.5, 0.3})).mode().item<int>() == 1);
  check_close(D::OneHotCategorical(row({0.2, 0.5, 0.3})).mode(), {3}, {0, 1, 0});
  check_close(D::Beta(row({2, 1, 3, 1, 0.5}), row({3, 3, 1, 1, 0.5})).mode(), {5}, {1.0 / 3, 0, 1, NAN, NAN});
  check_close(D::Gamma(row({3, 0.5}), 2).mode(), {2}, {4, 0});
  check_close(D::Chisquare(row({5, 1})).mode(), {2}, {3, 0});
  check_close(D::Pareto(1, row({0.5, 1.5, 3})).mean(), {3}, {kInf, 3, 1.5});
  check_close(D::Pareto(1, row({0.5, 1.5, 3})).variance(), {3}, {kInf, kInf, 0.75});
  CHECK(std::isnan(D::Cauchy(0, 1).mean().item<double>()));
  check_close(D::Normal(row({1}), 2).perplexity(), {1}, {2 * std::sqrt(2 * M_PI * M_E)});
}

TEST_CASE("distributions: tails are exact where shares are small") {
  const Variable far = row({8});
  CHECK(D::Normal(row({0}), 1).survival_function(far).item<double>() == doctest::Approx(6.220960574271785e-16));
  CHECK(D::Normal(row({0}), 1).log_survival_function(row({40})).item<double>() == doctest::Approx(-804.6084420137538));
  CHECK(D::Laplace(row({0}), 1).survival_function(row({60})).item<double>() == doctest::Approx(std::exp(-60.0) / 2));
  CHECK(D::Gumbel(row({0}), 1).survival_function(row({60})).item<double>() == doctest::Approx(std::exp(-60.0)));
  CHECK(D::Cauchy(row({0}), 1).cdf(row({-1e12})).item<double>() == doctest::Approx(1 / (M_PI * 1e12)));
  CHECK(D::Cauchy(row({0}), 1).icdf(row({1e-12})).item<double>() == doctest::Approx(-1 / (M_PI * 1e-12)));
  CHECK(D::Gamma(row({2}), 1).survival_function(row({100})).item<double>() == doctest::Approx(101 * std::exp(-100.0)));
  CHECK(D::Exponential(row({1})).cdf(row({1e-20})).item<double>() == doctest::Approx(1e-20));
}

TEST_CASE("distributions: Independent makes batch axes axes of a sample") {
  const Array mean = on_test_device(uniform({2, 3, 4}, -1, 1)), scale = on_test_device(uniform({2, 3, 4}, 0.5, 2));
  const D::Normal normal(mean, scale);
  const D::Independent by_default(normal), two(normal, 2), one(normal, 1), none(normal, 0);
  CHECK(by_default.batch_shape() == Shape{2});
  CHECK(by_default.event_shape() == Shape{3, 4});
  CHECK(two.reinterpreted_batch_ndims() == 2);
  CHECK(one.batch_shape() == Shape{2, 3});
  CHECK(none.event_shape() == Shape{});
  CHECK(one.sample({5}).shape() == Shape{5, 2, 3, 4});
  const Array x = on_test_device(uniform({2, 3, 4}, -1, 1, 2));
  const auto sum_of = [](const Variable& y) { return y.array().reshape({6, 4}); };
  const Array terms = sum_of(normal.log_prob(x));
  std::vector<double> sums(6);
  const std::vector<double> each = terms.to_vector<double>();
  for (size_t i = 0; i < each.size(); ++i) sums[i / 4] += each[i];
  check_close(one.log_prob(x), {2, 3}, sums);
  check_close(one.prob(x), {2, 3}, F::exp(one.log_prob(x)).to_vector<double>());
  CHECK(none.log_prob(x).shape() == Shape{2, 3, 4});
  // A batch of values beside it.
  CHECK(one.log_prob(on_test_device(uniform({7, 2, 3, 4}, -1, 1))).shape() == Shape{7, 2, 3});

  const Array covariance = one.covariance().array();
  CHECK(covariance.shape() == Shape{2, 3, 4, 4});
  const std::vector<double> variance = normal.variance().to_vector<double>(), blocks = covariance.to_vector<double>();
  for (size_t i = 0; i < blocks.size(); ++i) {
    const size_t r = i / 4 % 4, c = i % 4;
    CHECK(blocks[i] == doctest::Approx(r == c ? variance[i / 16 * 4 + r] : 0));
  }
  const D::Independent vectors(D::Dirichlet(on_test_device(uniform({2, 3, 4}, 1, 2))), 1);
  CHECK(vectors.batch_shape() == Shape{2});
  CHECK(vectors.event_shape() == Shape{3, 4});
  CHECK(vectors.covariance().shape() == Shape{2, 12, 12});
  CHECK(vectors.entropy().shape() == Shape{2});
  CHECK(D::kl_divergence(vectors, vectors).shape() == Shape{2});

  check_close(D::kl_divergence(one, D::Independent(D::Normal(mean, scale), 1)), {2, 3}, {0, 0, 0, 0, 0, 0});
  CHECK_THROWS_AS(D::kl_divergence(one, two), TypeError);
  CHECK_THROWS_WITH_AS(D::Independent(normal, 4),
                       "D::Independent: reinterpreted_batch_ndims is 4: it must be in [0, 3], as the distribution's "
                       "batch_shape is (2, 3, 4)",
                       ValueError);
  CHECK_THROWS_AS(D::Independent(std::shared_ptr<const D::Distribution>()), ValueError);
  CHECK_THROWS_AS(one.icdf(x), TypeError);
}

TEST_CASE("distributions: divergences of users, and those that are not known") {
  const Point point(row({1, 2}));
  const D::Normal normal(row({0}), 1);
  CHECK_THROWS_WITH_AS(D::kl_divergence(point, normal),
                       "D::kl_divergence: there is no formula for Point and Normal: D::register_kl can add one",
                       KeyError);
  D::register_kl<Point, D::Normal>([](const Point& p, const D::Normal& q) { return -q.log_prob(p.at()); });
  check_close(D::kl_divergence(point, normal), {2}, {0.5 + std::log(2 * M_PI) / 2, 2 + std::log(2 * M_PI) / 2});
  CHECK_THROWS_AS(D::kl_divergence(normal, point), KeyError);
  D::register_kl<Point, D::Normal>([](const Point& p, const D::Normal&) { return p.at() * 0; });  // the last one counts
  check_close(D::kl_divergence(point, normal), {2}, {0, 0});
  CHECK_THROWS_AS(D::register_kl(typeid(Point), typeid(Point), nullptr), ValueError);
  std::thread([&] { check_close(D::kl_divergence(point, normal), {2}, {0, 0}); }).join();

  const std::shared_ptr<const D::Distribution> copy = point.copy();
  CHECK(is_same(copy->mean(), point.at()));
  CHECK_THROWS_AS(copy->sample(), TypeError);
}

TEST_CASE("distributions: divergences that are infinite, broadcast, or do not fit") {
  CHECK(D::kl_divergence(D::Uniform(0, 2), D::Uniform(0, 1)).item<double>() == kInf);
  CHECK(D::kl_divergence(D::Pareto(1, 2), D::Pareto(2, 2)).item<double>() == kInf);
  CHECK(D::kl_divergence(D::Bernoulli(0.5), D::Bernoulli(0.0)).item<double>() == kInf);
  CHECK(D::kl_divergence(D::Bernoulli(0.0), D::Bernoulli(0.5)).item<double>() == doctest::Approx(std::log(2.0)));
  const D::Normal q(on_test_device(zeros({4, 3})), on_test_device(ones({4, 3})));
  const D::Normal standard(on_test_device(zeros({})), on_test_device(ones({})));
  CHECK(D::kl_divergence(q, standard).shape() == Shape{4, 3});
  CHECK(D::kl_divergence(standard, q).shape() == Shape{4, 3});
  CHECK_THROWS_AS(D::kl_divergence(q, D::Normal(row({0}), 1)), TypeError);
  CHECK_THROWS_AS(D::kl_divergence(q, D::Normal(on_test_device(zeros({2})), 1)), TypeError);
  CHECK_THROWS_AS(D::kl_divergence(D::Dirichlet(row({1, 2})), D::Dirichlet(row({1, 2, 3}))), TypeError);
  const D::Normal p(row({1}), 2);
  check_close(D::cross_entropy(p, D::Normal(row({0}), 1)), {1}, {std::log(2 * M_PI) / 2 + 0.5 * (4 + 1)});
}
