#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <variant>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/call_model.h"
#include "kusari/framework/links/in_use.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/link_hook.h"

namespace kusari::links {

/// A function of predictions and targets, such as a loss.
using TargetFunction = std::function<Variable(const Variable& y, const Variable& t)>;

struct ClassifierOptions {
  TargetFunction lossfun = nullptr;  ///< default: F::softmax_cross_entropy
  TargetFunction accfun = nullptr;   ///< default: F::accuracy
  bool compute_accuracy = true;
  /// Which variable is the target: its place among the arguments, or its key when they come with names.
  std::variant<int, std::string> label_key = -1;
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
  std::variant<int, std::string> label_key;

 protected:
  explicit ClassifierBase(ClassifierOptions options);
  ClassifierBase(const ClassifierBase&) = default;
  ClassifierBase(ClassifierBase&&) noexcept = default;
  ClassifierBase& operator=(const ClassifierBase&) = default;
  ClassifierBase& operator=(ClassifierBase&&) noexcept = default;
  void forget();
  Variable compare(Variable prediction, const Variable& t);
  /// Place of the target among `count` variables. Throws ValueError for a label_key that is a name or out of bounds.
  size_t label_place(size_t count) const;
  /// Its name among variables with names.
  const std::string& label_name(const DictVariables& batch) const;

  mutable kusari::detail::InUse in_use_;
};

/// A predictor with a loss: calls the predictor with all arguments but the target (options.label_key, the last one
/// unless told otherwise), compares its result with the target, and reports "loss" and, if wanted, "accuracy". Returns
/// the loss. A call sets members, so threads need a copy each: a call beside that of another thread throws StateError;
/// the predictor alone may be shared. Variables with names go to the predictor by name if it takes DictVariables,
/// otherwise in their order. chainer.links.Classifier.
template <LinkType Predictor>
class Classifier : public ClassifierBase {
 public:
  using Options = ClassifierOptions;
  explicit Classifier(Predictor network, Options options = {})
      : ClassifierBase(std::move(options)), predictor{*this, "predictor", std::move(network)} {}

  Variable operator()(const Variable& x, const Variable& t) requires detail::kTakesVariables<Predictor, 1> {
    return classify<1>({&x, &t}, std::make_index_sequence<1>());
  }
  Variable operator()(const Variable& x0, const Variable& x1,
                      const Variable& t) requires detail::kTakesVariables<Predictor, 2> {
    return classify<2>({&x0, &x1, &t}, std::make_index_sequence<2>());
  }
  Variable operator()(const Variable& x0, const Variable& x1, const Variable& x2,
                      const Variable& t) requires detail::kTakesVariables<Predictor, 3> {
    return classify<3>({&x0, &x1, &x2, &t}, std::make_index_sequence<3>());
  }
  Variable operator()(const DictVariables& batch) requires detail::kIsModel<Predictor> {
    const kusari::detail::LinkCall hooked(*this);
    const kusari::detail::ScopedUse use(in_use_, "Classifier");
    forget();
    const std::string& label = label_name(batch);
    const DictVariables features = batch.without(label);
    if constexpr (detail::kTakesNames<Predictor>) {
      return compare(predictor(features), batch[label]);
    } else {
      const Variables values = features.values();
      Predictor& call = predictor;
      return compare(detail::call_spread(call, {{values.data(), values.size()}}, "the predictor"), batch[label]);
    }
  }

  Child<Predictor> predictor;

 private:
  template <size_t n, size_t... kIndex>
  Variable classify(const std::array<const Variable*, n + 1>& arguments, std::index_sequence<kIndex...>) {
    const kusari::detail::LinkCall hooked(*this);
    const kusari::detail::ScopedUse use(in_use_, "Classifier");
    forget();
    const size_t at = label_place(n + 1);
    return compare(predictor(*arguments[kIndex < at ? kIndex : kIndex + 1]...), *arguments[at]);
  }
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
