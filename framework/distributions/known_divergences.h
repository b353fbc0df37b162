#pragma once

#include "kusari/framework/autograd/variable.h"

// The formulas that kl_divergence knows from the start; each stands with its class.
namespace kusari::distributions {

class Bernoulli;
class Beta;
class Categorical;
class Cauchy;
class Chisquare;
class Dirichlet;
class Exponential;
class Gamma;
class Geometric;
class Gumbel;
class Independent;
class Laplace;
class LogNormal;
class MultivariateNormal;
class Normal;
class OneHotCategorical;
class Pareto;
class Poisson;
class Uniform;

Variable divergence(const Bernoulli& p, const Bernoulli& q);
Variable divergence(const Beta& p, const Beta& q);
Variable divergence(const Categorical& p, const Categorical& q);
Variable divergence(const Cauchy& p, const Cauchy& q);
Variable divergence(const Chisquare& p, const Chisquare& q);
Variable divergence(const Dirichlet& p, const Dirichlet& q);
Variable divergence(const Exponential& p, const Exponential& q);
Variable divergence(const Gamma& p, const Gamma& q);
Variable divergence(const Geometric& p, const Geometric& q);
Variable divergence(const Gumbel& p, const Gumbel& q);
Variable divergence(const Independent& p, const Independent& q);
Variable divergence(const Laplace& p, const Laplace& q);
Variable divergence(const LogNormal& p, const LogNormal& q);
Variable divergence(const MultivariateNormal& p, const MultivariateNormal& q);
Variable divergence(const Normal& p, const Normal& q);
Variable divergence(const OneHotCategorical& p, const OneHotCategorical& q);
Variable divergence(const Pareto& p, const Pareto& q);
Variable divergence(const Poisson& p, const Poisson& q);
Variable divergence(const Uniform& p, const Uniform& q);

}  // namespace kusari::distributions
