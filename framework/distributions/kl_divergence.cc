#include "kusari/framework/distributions/kl_divergence.h"

#include <map>
#include <mutex>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/type_name.h"
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
#include "kusari/framework/distributions/known_divergences.h"
#include "kusari/framework/distributions/laplace.h"
#include "kusari/framework/distributions/log_normal.h"
#include "kusari/framework/distributions/multivariate_normal.h"
#include "kusari/framework/distributions/normal.h"
#include "kusari/framework/distributions/one_hot_categorical.h"
#include "kusari/framework/distributions/pareto.h"
#include "kusari/framework/distributions/poisson.h"
#include "kusari/framework/distributions/uniform.h"
#include "kusari/framework/functions/math/basic_math.h"

namespace kusari::distributions {
namespace {

class KnownDivergences {
 public:
  void set(std::type_index p, std::type_index q, Divergence formula) {
    const std::lock_guard lock(mutex_);
    formulas_[{p, q}] = std::make_shared<const Divergence>(std::move(formula));
  }
  /// Null when there is none. The formula stays while it is used, whatever is registered meanwhile.
  std::shared_ptr<const Divergence> find(std::type_index p, std::type_index q) const {
    const std::lock_guard lock(mutex_);
    const auto found = formulas_.find({p, q});
    return found == formulas_.end() ? nullptr : found->second;
  }
  template <class D>
  void add() {
    set(typeid(D), typeid(D), [](const Distribution& p, const Distribution& q) {
      return divergence(static_cast<const D&>(p), static_cast<const D&>(q));
    });
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::type_index, std::type_index>, std::shared_ptr<const Divergence>> formulas_;
};

void add_own(KnownDivergences& known) {
  known.add<Bernoulli>();
  known.add<Beta>();
  known.add<Categorical>();
  known.add<Cauchy>();
  known.add<Chisquare>();
  known.add<Dirichlet>();
  known.add<Exponential>();
  known.add<Gamma>();
  known.add<Geometric>();
  known.add<Gumbel>();
  known.add<Independent>();
  known.add<Laplace>();
  known.add<LogNormal>();
  known.add<MultivariateNormal>();
  known.add<Normal>();
  known.add<OneHotCategorical>();
  known.add<Pareto>();
  known.add<Poisson>();
  known.add<Uniform>();
}

KnownDivergences& known_divergences() {
  static KnownDivergences* const known = [] {
    auto* const made = new KnownDivergences;
    add_own(*made);
    return made;
  }();  // never destroyed: threads may outlive every static
  return *known;
}

}  // namespace

Variable kl_divergence(const Distribution& p, const Distribution& q) {
  const auto formula = known_divergences().find(typeid(p), typeid(q));
  if (formula == nullptr) {
    throw KeyError("D::kl_divergence: there is no formula for " + type_name(typeid(p)) + " and " +
                   type_name(typeid(q)) + ": D::register_kl can add one");
  }
  broadcast_shapes(p.batch_shape(), q.batch_shape(), "D::kl_divergence");
  if (p.event_shape() != q.event_shape()) {
    throw TypeError("D::kl_divergence: samples of p have shape " + to_string(p.event_shape()) + " but those of q " +
                    to_string(q.event_shape()) + ": they must be the same");
  }
  if (p.dtype() != q.dtype()) {
    throw TypeError(std::string("D::kl_divergence: p has dtype ") + name(p.dtype()) + " but q has " + name(q.dtype()) +
                    ": they must be the same");
  }
  return (*formula)(p, q);
}

Variable cross_entropy(const Distribution& p, const Distribution& q) {
  const Variable divergence = kl_divergence(p, q);
  return p.entropy() + divergence;
}

void register_kl(std::type_index p, std::type_index q, Divergence formula) {
  known_divergences().set(p, q, argument::callable("D::register_kl", "formula", std::move(formula)));
}

}  // namespace kusari::distributions
