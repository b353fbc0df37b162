#include "kusari/framework/functions/evaluation/classification_summary.h"

#include <algorithm>
#include <limits>
#include <string>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/reduce.h"
#include "kusari/framework/kernels/rows.h"

namespace kusari::functions {
namespace {

constexpr const char* kCall = "F::classification_summary";

class Summary final : public FunctionNode {
 public:
  Summary(const char* name, const ClassificationSummaryOptions& options) : name_{name}, options_{options} {}
  const char* name() const override { return name_; }
  void describe(Attributes& options) const override {
    options.set("label_num", options_.label_num);
    options.set("beta", options_.beta);
    options.set("ignore_label", options_.ignore_label);
  }

 private:
  void check(const TypeCheck& c) const override {
    const auto [y, t] = c.args("y", "t");
    const int axes = t.array().ndim();
    c.expect(y.is_floating(), t.is_integral(), t.ndim() >= 1, y.ndim() > axes, y.shape(0) == t.shape(0),
             y.shape(1) >= 1);
    for (int i = 1; i < axes; ++i) c.expect(y.shape(i + 1) == t.shape(i));
    for (int i = axes + 1; i < y.array().ndim(); ++i) c.expect(y.shape(i) == 1);
  }

  Arrays forward(const ArrayRefs& in) override {
    const Array& y = in[0];
    const Array t = in[1].reshape({in[1].size()}).astype(Dtype::int64);
    const int64_t classes = label_count(t);
    // Two classes more: for what belongs to none, and, where counting fails, for labels that must not be.
    const Array no_class = full({}, classes, Dtype::int64, y.device());
    const Array ignored = pointwise(kernels::EqualConst{static_cast<double>(options_.ignore_label)}, t);
    const Array label = pointwise(kernels::Where{}, ignored, no_class, limited(t, classes));

    Shape places = y.shape();
    places.erase(1);
    const Array best = empty(places, Dtype::int64, y.device());
    launch<kernels::Argmax>(y.device(), 1, y, best);
    const Array predicted =
        pointwise(kernels::Where{}, ignored, no_class, limited(best.reshape({best.size()}), classes));
    const Array hit = pointwise(kernels::Where{}, pointwise(kernels::Equal{}, predicted, label), label, no_class);

    const Dtype dtype = y.dtype() == Dtype::float64 ? Dtype::float64 : Dtype::float32;
    const Array support = support_of(label, classes), relevant = count(predicted, classes), hits = count(hit, classes);
    const Array precision = pointwise_as(dtype, kernels::Div{}, hits.astype(dtype), relevant.astype(dtype));
    const Array recall = pointwise_as(dtype, kernels::Div{}, hits.astype(dtype), support.astype(dtype));
    return {precision, recall, fbeta(precision, recall), support};
  }

  Variables backward(const Variables&) override { return {Variable(), Variable()}; }

  int64_t label_count(const Array& t) const {
    if (options_.label_num) return *options_.label_num;
    if (t.size() == 0) throw ValueError(std::string("F::") + name_ + ": t is empty: label_num must be given");
    const auto largest = reduce(kernels::Max{}, t).item<int64_t>();
    if (largest == std::numeric_limits<int64_t>::max()) {
      throw ValueError(std::string("F::") + name_ + ": t holds " + std::to_string(largest) +
                       ": no class has that label");
    }
    return std::max<int64_t>(largest + 1, 0);
  }

  // What is not below `classes` is of no class; negative labels become an index that no counter has.
  static Array limited(const Array& t, int64_t classes) {
    const Array limit = full({}, classes, Dtype::int64, t.device());
    const Array low = pointwise(kernels::Minimum{}, t, limit);
    return pointwise(kernels::Where{}, pointwise(kernels::LessConst{0}, t), pointwise(kernels::AddConst{1}, limit),
                     low);
  }

  Array support_of(const Array& labels, int64_t classes) const {
    try {
      return count(labels, classes);
    } catch (const IndexError&) {  // which names the index that stands for the label
      throw IndexError(std::string("F::") + name_ + ": t has a negative label: labels must be at least 0, or " +
                       std::to_string(options_.ignore_label) + " (ignore_label)");
    }
  }

  static Array count(const Array& labels, int64_t classes) {
    const Array counts = zeros({classes + 1, 1}, Dtype::int64, labels.device());
    const Array once = ones({labels.size(), 1}, Dtype::int64, labels.device());
    launch<kernels::AddRows>(labels.device(), kernels::RowLookup{.call = kCall}, once, labels, counts);
    return counts.slice(0, 0, classes).reshape({classes});
  }

  Array fbeta(const Array& precision, const Array& recall) const {
    const double square = options_.beta * options_.beta;
    const Array weighted = pointwise(kernels::MulConst{square}, precision);
    const Array product = pointwise(kernels::Mul{}, precision, recall);
    return pointwise(kernels::Div{}, pointwise(kernels::MulConst{1 + square}, product),
                     pointwise(kernels::Add{}, weighted, recall));
  }

  const char* name_;  // of the function that was called
  ClassificationSummaryOptions options_;
};

}  // namespace

namespace {

ClassificationSummary summary(const char* name, const Variable& y, const Variable& t,
                              const ClassificationSummaryOptions& options) {
  argument::not_nan((std::string("F::") + name).c_str(), "beta", options.beta);
  if (options.label_num && *options.label_num < 0) {
    throw ValueError(std::string("F::") + name + ": label_num is " + std::to_string(*options.label_num) +
                     ": it must not be negative");
  }
  if (options.label_num) checked_numel({*options.label_num, 2}, itemsize(Dtype::int64), kCall);
  const auto mode = no_backprop_mode();
  const Variables all = apply_all<Summary>({y, t}, name, options);
  return {all[0], all[1], all[2], all[3]};
}

}  // namespace

ClassificationSummary classification_summary(const Variable& y, const Variable& t,
                                             const ClassificationSummaryOptions& options) {
  return summary("classification_summary", y, t, options);
}

std::pair<Variable, Variable> precision(const Variable& y, const Variable& t,
                                        const ClassificationSummaryOptions& options) {
  const ClassificationSummary all = summary("precision", y, t, options);
  return {all.precision, all.support};
}

std::pair<Variable, Variable> recall(const Variable& y, const Variable& t,
                                     const ClassificationSummaryOptions& options) {
  const ClassificationSummary all = summary("recall", y, t, options);
  return {all.recall, all.support};
}

std::pair<Variable, Variable> fbeta_score(const Variable& y, const Variable& t,
                                          const ClassificationSummaryOptions& options) {
  const ClassificationSummary all = summary("fbeta_score", y, t, options);
  return {all.fbeta, all.support};
}

std::pair<Variable, Variable> f1_score(const Variable& y, const Variable& t,
                                       const ClassificationSummaryOptions& options) {
  ClassificationSummaryOptions balanced = options;
  balanced.beta = 1;
  const ClassificationSummary all = summary("f1_score", y, t, balanced);
  return {all.fbeta, all.support};
}

}  // namespace kusari::functions
