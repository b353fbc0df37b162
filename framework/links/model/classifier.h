#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/links/call_model.h"
#include "kusari/framework/links/in_use.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/link_hook.h"

namespace kusari::links {

/// A function of predictions and targets, such as a loss.
using TargetFunction = Callable<Variable(const Variable& y, const Variable& t)>;

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
  ~ClassifierBase() override;

  // Each call writes these, so one classifier is called by one thread at a time.
  mutable Variable y;         ///< predictions of the last call
  mutable Variable loss;      ///< loss of the last call
  mutable Variable accuracy;  ///< accuracy of the last call; undefined when it was not computed
  bool compute_accuracy;
  TargetFunction lossfun;
  TargetFunction accfun;
  std::variant<int, std::string> label_key;

 protected:
  explicit ClassifierBase(ClassifierOptions options);
  ClassifierBase(const ClassifierBase&);
  ClassifierBase(ClassifierBase&&) noexcept;
  ClassifierBase& operator=(const ClassifierBase&);
  ClassifierBase& operator=(ClassifierBase&&) noexcept;
  void forget() const;
  Variable compare(Variable prediction, const Variable& t) const;
  /// The same of variables with names, all but the target of which `predict` gets.
  Variable compare_named(const DictVariables& batch, const Callable<Variable(const DictVariables&)>& predict) const;
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

  // const where the predictor's operator() is.
  Variable operator()(const Variable& x, const Variable& t) const requires detail::kTakesVariables<const Predictor, 1> {
    return classify<1>(*this, {&x, &t}, std::make_index_sequence<1>());
  }
  Variable operator()(const Variable& x, const Variable& t) requires(detail::kTakesVariables<Predictor, 1> &&
                                                                     !detail::kTakesVariables<const Predictor, 1>) {
    return classify<1>(*this, {&x, &t}, std::make_index_sequence<1>());
  }
  Variable operator()(const Variable& x0, const Variable& x1,
                      const Variable& t) const requires detail::kTakesVariables<const Predictor, 2> {
    return classify<2>(*this, {&x0, &x1, &t}, std::make_index_sequence<2>());
  }
  Variable operator()(const Variable& x0, const Variable& x1,
                      const Variable& t) requires(detail::kTakesVariables<Predictor, 2> &&
                                                  !detail::kTakesVariables<const Predictor, 2>) {
    return classify<2>(*this, {&x0, &x1, &t}, std::make_index_sequence<2>());
  }
  Variable operator()(const Variable& x0, const Variable& x1, const Variable& x2,
                      const Variable& t) const requires detail::kTakesVariables<const Predictor, 3> {
    return classify<3>(*this, {&x0, &x1, &x2, &t}, std::make_index_sequence<3>());
  }
  Variable operator()(const Variable& x0, const Variable& x1, const Variable& x2,
                      const Variable& t) requires(detail::kTakesVariables<Predictor, 3> &&
                                                  !detail::kTakesVariables<const Predictor, 3>) {
    return classify<3>(*this, {&x0, &x1, &x2, &t}, std::make_index_sequence<3>());
  }
  Variable operator()(const DictVariables& batch) const requires detail::kIsModel<const Predictor> {
    return classify_named(*this, batch);
  }
  Variable operator()(const DictVariables& batch) requires(detail::kIsModel<Predictor> &&
                                                           !detail::kIsModel<const Predictor>) {
    return classify_named(*this, batch);
  }

  Child<Predictor> predictor;

 private:
  /// `self`: this classifier, const or not.
  template <size_t n, class Self, size_t... kIndex>
  static Variable classify(Self& self, const std::array<const Variable*, n + 1>& arguments,
                           std::index_sequence<kIndex...>) {
    const LinkCall hooked(self);
    const kusari::detail::ScopedUse use(self.in_use_, "Classifier");
    self.forget();
    const size_t at = self.label_place(n + 1);
    return self.compare(self.predictor(*arguments[kIndex < at ? kIndex : kIndex + 1]...), *arguments[at]);
  }
  template <class Self>
  static Variable classify_named(Self& self, const DictVariables& batch) {
    using Callee = std::conditional_t<std::is_const_v<Self>, const Predictor, Predictor>;
    const LinkCall hooked(self);
    const kusari::detail::ScopedUse use(self.in_use_, "Classifier");
    self.forget();
    return self.compare_named(batch, [&call = static_cast<Callee&>(self.predictor)](const DictVariables& features) {
      if constexpr (detail::kTakesNames<Callee>) {
        return call(features);
      } else {
        const Variables values = features.values();
        return detail::call_spread(call, {{values.data(), values.size()}}, "the predictor");
      }
    });
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
