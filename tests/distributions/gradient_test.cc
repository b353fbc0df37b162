#include <string>
#include <vector>

#include "kusari/framework/distributions/kl_divergence.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/tests/distributions/distribution_maker.h"
#include "kusari/tests/functions/testing.h"

using namespace kusari;
using namespace kusari::testing;

namespace {

struct Given {
  const char* name;
  double low, high;
};

struct Case {
  const char* distribution;
  std::vector<Given> parameters;
  double low, high;  // of x
  std::vector<std::string> methods;
  std::vector<std::string> properties;
  bool second_order = true;  // by parameters
};

const std::vector<std::string> kAll = {
    "log_prob", "prob", "cdf", "log_cdf", "survival_function", "log_survival_function", "icdf"};

const std::vector<Case>& cases() {
  static const std::vector<Case> list = {
      {"Normal", {{"loc", -1, 1}, {"scale", 0.5, 2}}, -2, 2, kAll, {"mean", "variance", "stddev", "entropy", "median"}},
      {"Beta", {{"a", 0.6, 3}, {"b", 0.6, 3}}, 0.1, 0.9, kAll, {"mean", "variance", "entropy"}, false},
      {"Cauchy", {{"loc", -1, 1}, {"scale", 0.5, 2}}, -2, 2, kAll, {"mode", "entropy"}},
      {"Chisquare", {{"k", 0.5, 4}}, 0.2, 5, kAll, {"mean", "variance", "entropy"}},
      {"Exponential", {{"lam", 0.5, 2}}, 0.1, 3, kAll, {"mean", "variance", "entropy", "median"}},
      {"Gamma", {{"k", 0.5, 4}, {"theta", 0.5, 2}}, 0.2, 5, kAll, {"mean", "variance", "entropy"}},
      {"Gumbel", {{"loc", -1, 1}, {"scale", 0.5, 2}}, -2, 2, kAll, {"mean", "variance", "entropy", "median"}},
      {"Laplace", {{"loc", -0.1, 0}, {"scale", 0.5, 2}}, 0.2, 2, kAll, {"variance", "entropy", "median"}},
      {"LogNormal",
       {{"mu", -1, 1}, {"sigma", 0.5, 1}},
       0.3,
       3,
       kAll,
       {"mean", "mode", "variance", "entropy", "median"}},
      {"Pareto", {{"scale", 0.5, 1}, {"alpha", 2.5, 4}}, 1.2, 4, kAll, {"mean", "mode", "variance", "entropy"}},
      {"Poisson", {{"lam", 0.5, 6}}, 0, 0, {}, {"mean", "variance", "entropy"}},
      {"Uniform",
       {{"low", -1, 0}, {"high", 3, 4}},
       0.2,
       2,
       {"cdf", "survival_function", "icdf"},
       {"mean", "variance", "entropy"}},
  };
  return list;
}

Made of_arrays(const Case& c, const std::vector<Variable>& parameters) {
  Parameters p;
  for (size_t i = 0; i < c.parameters.size(); ++i) p[c.parameters[i].name] = parameters[i];
  return make_distribution(c.distribution, p);
}

template <class Function>
void check(const Function& function, const Arrays& x, bool second_order) {
  CHECK_NOTHROW(gradient_check::check_backward(function, x, {}, {.atol = 1e-5, .rtol = 1e-4}));
  if (!second_order) return;
  CHECK_NOTHROW(gradient_check::check_double_backward(function, x, {}, {}, {.atol = 1e-4, .rtol = 1e-3}));
}

}  // namespace

TEST_CASE("distributions: gradients of methods and properties") {
  for (const Case& c : cases()) {
    CAPTURE(c.distribution);
    Arrays parameters;
    uint64_t seed = 1;
    for (const Given& given : c.parameters) {
      parameters.push_back(on_test_device(uniform({3}, given.low, given.high, seed++)));
    }
    for (const std::string& method : c.methods) {
      CAPTURE(method);
      const bool is_share = method == "icdf";
      Arrays inputs = parameters;
      inputs.push_back(on_test_device(uniform({2, 3}, is_share ? 0.1 : c.low, is_share ? 0.9 : c.high, 9)));
      const auto call = [&](const auto&... x) {
        std::vector<Variable> all = {x...};
        const Variable at = all.back();
        all.pop_back();
        return ask(*of_arrays(c, all), method, at);
      };
      const bool has_share = method.find("prob") == std::string::npos;
      const bool second_order = c.second_order || !has_share;
      if (inputs.size() == 2) {
        check([&](const Variable& a, const Variable& x) { return call(a, x); }, inputs, second_order);
      } else {
        check([&](const Variable& a, const Variable& b, const Variable& x) { return call(a, b, x); }, inputs,
              second_order);
      }
    }
    for (const std::string& property : c.properties) {
      CAPTURE(property);
      const auto call = [&](const auto&... x) { return ask(*of_arrays(c, {x...}), property, Variable()); };
      if (parameters.size() == 1) {
        check([&](const Variable& a) { return call(a); }, parameters, true);
      } else {
        check([&](const Variable& a, const Variable& b) { return call(a, b); }, parameters, true);
      }
    }
    // The divergence from one with other parameters.
    if (std::string(c.distribution) == "Uniform") continue;
    const auto from_moved = [&](const auto&... x) {
      std::vector<Variable> moved = {(x * 1.1)...};
      if (std::string(c.distribution) == "Pareto") moved[0] = moved[0] * 0.8;  // q must reach as far as p
      return D::kl_divergence(*of_arrays(c, {x...}), *of_arrays(c, moved));
    };
    if (parameters.size() == 1) {
      check([&](const Variable& a) { return from_moved(a); }, parameters, true);
    } else {
      check([&](const Variable& a, const Variable& b) { return from_moved(a, b); }, parameters, true);
    }
  }
}

TEST_CASE("distributions: gradients of discrete ones and of vectors") {
  const Array p = on_test_device(uniform({3}, 0.2, 0.8)), logit = on_test_device(uniform({3}, -2, 2));
  const Array bits = on_test_device(array<double>({0, 1, 1})), counts = on_test_device(array<double>({1, 4, 2}));
  check_gradients([&](const Variable& v) { return D::Bernoulli(v).log_prob(bits); }, p);
  check_gradients([&](const Variable& v) { return D::Bernoulli({.logit = v}).log_prob(bits); }, logit);
  check_gradients([&](const Variable& v) { return D::Bernoulli({.logit = v}).entropy(); }, logit);
  check_gradients([&](const Variable& v) { return D::Geometric(v).log_prob(counts); }, p);
  check_gradients([&](const Variable& v) { return D::Geometric(v).cdf(counts); }, p);
  check_gradients([&](const Variable& v) { return D::Geometric(v).entropy(); }, p);
  check_gradients([&](const Variable& v) { return D::Poisson(v).log_prob(counts); }, p);
  check_gradients([&](const Variable& v) { return D::Poisson(v).cdf(counts); }, p);
  const Array index = on_test_device(array<int64_t>({2, 0}));
  const Array logits = on_test_device(uniform({2, 3}, -1, 1));
  check_gradients([&](const Variable& v) { return D::Categorical({.logit = v}).log_prob(index); }, logits);
  check_gradients([&](const Variable& v) { return D::Categorical({.logit = v}).entropy(); }, logits);
  const Array alpha = on_test_device(uniform({2, 3}, 0.5, 3));
  const Array shares = on_test_device(array<double>({0.2, 0.3, 0.5}));
  check_gradients([&](const Variable& v) { return D::Dirichlet(v).log_prob(shares); }, alpha);
  check_gradients([&](const Variable& v) { return D::Dirichlet(v).covariance(); }, alpha);
  check_gradients([&](const Variable& v) { return D::kl_divergence(D::Dirichlet(v), D::Dirichlet(v + 1)); }, alpha);
  const Array loc = on_test_device(uniform({3}, -1, 1)), x = on_test_device(uniform({2, 3}, -1, 1, 4));
  const Array tril = on_test_device(array<double>({1.5, 0, 0, 0.2, 0.8, 0, -0.4, 0.3, 1.2}, {3, 3}));
  const auto log_prob = [&](const Variable& l, const Variable& s) {
    return D::MultivariateNormal(l, {.scale_tril = s}).log_prob(x);
  };
  CHECK_NOTHROW(gradient_check::check_backward(log_prob, {loc, tril}, {}, {.atol = 1e-5, .rtol = 1e-4}));
  CHECK_NOTHROW(gradient_check::check_double_backward(log_prob, {loc, tril}, {}, {}, {.atol = 1e-4, .rtol = 1e-3}));
}

// d log p / dp at the edges of a support is finite or the right infinity, never NaN.
TEST_CASE("distributions: gradients are no NaN outside of the support") {
  const Variable a(full({}, 1.0, Dtype::float64, test_device())), b(full({}, 2.0, Dtype::float64, test_device()));
  const Variable x(array<double>({-1, 0, 0.5, 3}).to_device(test_device()), false);
  for (const auto& d : std::vector<Made>{
           make_distribution("Gamma", {{"k", a}, {"theta", b}}),
           make_distribution("LogNormal", {{"mu", a}, {"sigma", b}}), make_distribution("Beta", {{"a", a}, {"b", b}}),
           make_distribution("Pareto", {{"scale", a}, {"alpha", b}}), make_distribution("Exponential", {{"lam", a}}),
           make_distribution("Uniform", {{"low", a}, {"high", b}})}) {
    CAPTURE(d->name());
    for (const std::string& method : kAll) {
      if (method == "icdf") continue;  // of shares only
      CAPTURE(method);
      const Variable y = ask(*d, method, x);
      for (const double value : y.to_vector<double>()) CHECK(!std::isnan(value));
      if (method.substr(0, 3) == "log") continue;  // whose infinite values have infinite slopes
      for (const Variable& g : grad({y}, {a, b})) {
        if (g.is_defined()) CHECK(!std::isnan(g.item<double>()));
      }
    }
  }
}
