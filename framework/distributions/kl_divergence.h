#pragma once

#include <concepts>
#include <typeindex>
#include <utility>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/distributions/distribution.h"

namespace kusari::distributions {

/// The Kullback-Leibler divergence of p from q, sum or integral of p (log p - log q), by a formula for the classes of
/// both. Returns their common batch_shape; infinite where p has samples that q cannot have. Differentiable to any
/// order. Throws KeyError for two classes without a formula (see register_kl), TypeError when dtypes or shapes do not
/// fit. chainer.kl_divergence.
KUSARI_API Variable kl_divergence(const Distribution& p, const Distribution& q);

/// The cross entropy of p and q in nats: p.entropy() + kl_divergence(p, q). chainer.cross_entropy.
KUSARI_API Variable cross_entropy(const Distribution& p, const Distribution& q);

using Divergence = Callable<Variable(const Distribution& p, const Distribution& q)>;

/// Enters the formula for two classes, or replaces that which is there; any thread may. See the template.
KUSARI_API void register_kl(std::type_index p, std::type_index q, Divergence formula);

/// register_kl<Mine, Normal>([](const Mine& p, const Normal& q) { return ...; }): kl_divergence then finds it for
/// objects of exactly these classes. chainer.register_kl.
template <std::derived_from<Distribution> P, std::derived_from<Distribution> Q, class Formula>
void register_kl(Formula formula) {
  register_kl(typeid(P), typeid(Q), [formula = std::move(formula)](const Distribution& p, const Distribution& q) {
    return Variable(formula(static_cast<const P&>(p), static_cast<const Q&>(q)));
  });
}

}  // namespace kusari::distributions
