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
      {"Bernoulli", [](Parameters& of) { return std::make_shared<D::Bernoulli>(of["p"]); }},
      {"Beta", [](Parameters& of) { return std::make_shared<D::Beta>(of["a"], of["b"]); }},
      {"Categorical", [](Parameters& of) { return std::make_shared<D::Categorical>(of["p"]); }},
      {"Cauchy", [](Parameters& of) { return std::make_shared<D::Cauchy>(of["loc"], of["scale"]); }},
      {"Chisquare", [](Parameters& of) { return std::make_shared<D::Chisquare>(of["k"]); }},
      {"Dirichlet", [](Parameters& of) { return std::make_shared<D::Dirichlet>(of["alpha"]); }},
      {"Exponential", [](Parameters& of) { return std::make_shared<D::Exponential>(of["lam"]); }},
      {"Gamma", [](Parameters& of) { return std::make_shared<D::Gamma>(of["k"], of["theta"]); }},
      {"Geometric", [](Parameters& of) { return std::make_shared<D::Geometric>(of["p"]); }},
      {"Gumbel", [](Parameters& of) { return std::make_shared<D::Gumbel>(of["loc"], of["scale"]); }},
      {"Laplace", [](Parameters& of) { return std::make_shared<D::Laplace>(of["loc"], of["scale"]); }},
      {"LogNormal", [](Parameters& of) { return std::make_shared<D::LogNormal>(of["mu"], of["sigma"]); }},
      {"MultivariateNormal",
       [](Parameters& of) {
         return std::make_shared<D::MultivariateNormal>(of["loc"],
                                                        D::MultivariateNormalScale{.scale_tril = of["scale_tril"]});
       }},
      {"Normal", [](Parameters& of) { return std::make_shared<D::Normal>(of["loc"], of["scale"]); }},
      {"OneHotCategorical", [](Parameters& of) { return std::make_shared<D::OneHotCategorical>(of["p"]); }},
      {"Pareto", [](Parameters& of) { return std::make_shared<D::Pareto>(of["scale"], of["alpha"]); }},
      {"Poisson", [](Parameters& of) { return std::make_shared<D::Poisson>(of["lam"]); }},
      {"Uniform", [](Parameters& of) { return std::make_shared<D::Uniform>(of["low"], of["high"]); }},
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
