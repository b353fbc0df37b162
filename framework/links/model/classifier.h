#pragma once

#include <functional>
#include <type_traits>
#include <utility>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/call_model.h"
#include "kusari/framework/links/link.h"

namespace kusari::links {

/// A function of predictions and targets, such as a loss.
using TargetFunction = std::function<Variable(const Variable& y, const Variable& t)>;

struct ClassifierOptions {
  TargetFunction lossfun = nullptr;  ///< default: F::softmax_cross_entropy
  TargetFunction accfun = nullptr;   ///< default: F::accuracy
  bool compute_accuracy = true;
};

/// What all classifiers share.
class KUSARI_API ClassifierBase : public Chain {
 public:
  Variable y;         ///< predictions of the last call
  Variable loss;      ///< loss of the last call
  Variable accuracy;  ///< accuracy of the last call; undefined when it was not computed
  bool compute_accuracy;
  TargetFunction lossfun;
  TargetFunction accfun;

 protected:
  explicit ClassifierBase(ClassifierOptions options);
  ClassifierBase(const ClassifierBase&) = default;
  ClassifierBase(ClassifierBase&&) noexcept = default;
  ClassifierBase& operator=(const ClassifierBase&) = default;
  ClassifierBase& operator=(ClassifierBase&&) noexcept = default;
  void forget();
  Variable compare(Variable prediction, const Variable& t);
};

/// A predictor with a loss: calls the predictor with all arguments but the last, compares its result with the last, and
/// reports "loss" and, if wanted, "accuracy". Returns the loss. chainer.links.Classifier.
template <LinkType Predictor>
class Classifier : public ClassifierBase {
 public:
  using Options = ClassifierOptions;
  explicit Classifier(Predictor network, Options options = {})
      : ClassifierBase(std::move(options)), predictor{*this, "predictor", std::move(network)} {}

  Variable operator()(const Variable& x, const Variable& t) requires detail::kTakesVariables<Predictor, 1> {
    forget();
    return compare(predictor(x), t);
  }
  Variable operator()(const Variable& x0, const Variable& x1,
                      const Variable& t) requires detail::kTakesVariables<Predictor, 2> {
    forget();
    return compare(predictor(x0, x1), t);
  }
  Variable operator()(const Variable& x0, const Variable& x1, const Variable& x2,
                      const Variable& t) requires detail::kTakesVariables<Predictor, 3> {
    forget();
    return compare(predictor(x0, x1, x2), t);
  }

  Child<Predictor> predictor;
};

/// `auto model = L::classifier(Mlp(1000, 10));`
template <LinkType Predictor>
Classifier<Predictor> classifier(Predictor predictor, ClassifierOptions options = {}) {
  return Classifier<Predictor>(std::move(predictor), std::move(options));
}

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
