#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "kusari/framework/distributions/bernoulli.h"
#include "kusari/framework/distributions/beta.h"
#include "kusari/framework/distributions/categorical.h"
#include "kusari/framework/distributions/cauchy.h"
#include "kusari/framework/distributions/chisquare.h"
#include "kusari/framework/distributions/dirichlet.h"
#include "kusari/framework/distributions/exponential.h"
#include "kusari/framework/distributions/gamma.h"
#include "kusari/framework/distributions/geometric.h"
#include "kusari/framework/distributions/gumbel.h"
#include "kusari/framework/distributions/independent.h"
#include "kusari/framework/distributions/laplace.h"
#include "kusari/framework/distributions/log_normal.h"
#include "kusari/framework/distributions/multivariate_normal.h"
#include "kusari/framework/distributions/normal.h"
#include "kusari/framework/distributions/one_hot_categorical.h"
#include "kusari/framework/distributions/pareto.h"
#include "kusari/framework/distributions/poisson.h"
#include "kusari/framework/distributions/uniform.h"
#include "kusari/tests/test_device.h"

namespace kusari {

namespace functions {}
namespace F = functions;
namespace D = distributions;

namespace testing {

using Parameters = std::map<std::string, Variable>;
using Made = std::shared_ptr<const D::Distribution>;

/// A distribution by its class's name and its parameters' names.
inline Made make_distribution(const std::string& name, Parameters p) {
  using Maker = std::function<Made(Parameters&)>;
  static const std::map<std::string, Maker> makers = {
      {"Bernoulli", [](Parameters& p) { return std::make_shared<D::Bernoulli>(p["p"]); }},
      {"Beta", [](Parameters& p) { return std::make_shared<D::Beta>(p["a"], p["b"]); }},
      {"Categorical", [](Parameters& p) { return std::make_shared<D::Categorical>(p["p"]); }},
      {"Cauchy", [](Parameters& p) { return std::make_shared<D::Cauchy>(p["loc"], p["scale"]); }},
      {"Chisquare", [](Parameters& p) { return std::make_shared<D::Chisquare>(p["k"]); }},
      {"Dirichlet", [](Parameters& p) { return std::make_shared<D::Dirichlet>(p["alpha"]); }},
      {"Exponential", [](Parameters& p) { return std::make_shared<D::Exponential>(p["lam"]); }},
      {"Gamma", [](Parameters& p) { return std::make_shared<D::Gamma>(p["k"], p["theta"]); }},
      {"Geometric", [](Parameters& p) { return std::make_shared<D::Geometric>(p["p"]); }},
      {"Gumbel", [](Parameters& p) { return std::make_shared<D::Gumbel>(p["loc"], p["scale"]); }},
      {"Laplace", [](Parameters& p) { return std::make_shared<D::Laplace>(p["loc"], p["scale"]); }},
      {"LogNormal", [](Parameters& p) { return std::make_shared<D::LogNormal>(p["mu"], p["sigma"]); }},
      {"MultivariateNormal",
       [](Parameters& p) {
         return std::make_shared<D::MultivariateNormal>(p["loc"],
                                                        D::MultivariateNormalScale{.scale_tril = p["scale_tril"]});
       }},
      {"Normal", [](Parameters& p) { return std::make_shared<D::Normal>(p["loc"], p["scale"]); }},
      {"OneHotCategorical", [](Parameters& p) { return std::make_shared<D::OneHotCategorical>(p["p"]); }},
      {"Pareto", [](Parameters& p) { return std::make_shared<D::Pareto>(p["scale"], p["alpha"]); }},
      {"Poisson", [](Parameters& p) { return std::make_shared<D::Poisson>(p["lam"]); }},
      {"Uniform", [](Parameters& p) { return std::make_shared<D::Uniform>(p["low"], p["high"]); }},
  };
  return makers.at(name)(p);
}

/// A method with an argument, or a property, by name.
inline Variable ask(const D::Distribution& d, const std::string& what, const Variable& x) {
  using Method = Variable (D::Distribution::*)(const Variable&) const;
  static const std::map<std::string, Method> methods = {
      {"log_prob", &D::Distribution::log_prob},
      {"prob", &D::Distribution::prob},
      {"cdf", &D::Distribution::cdf},
      {"log_cdf", &D::Distribution::log_cdf},
      {"survival_function", &D::Distribution::survival_function},
      {"log_survival_function", &D::Distribution::log_survival_function},
      {"icdf", &D::Distribution::icdf},
  };
  using Property = Variable (D::Distribution::*)() const;
  static const std::map<std::string, Property> properties = {
      {"mean", &D::Distribution::mean},       {"mode", &D::Distribution::mode},
      {"median", &D::Distribution::median},   {"variance", &D::Distribution::variance},
      {"stddev", &D::Distribution::stddev},   {"covariance", &D::Distribution::covariance},
      {"entropy", &D::Distribution::entropy},
  };
  if (x.is_defined()) return (d.*methods.at(what))(x);
  return (d.*properties.at(what))();
}

}  // namespace testing
}  // namespace kusari
