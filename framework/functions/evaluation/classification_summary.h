#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Options of F::classification_summary, F::precision, F::recall, F::fbeta_score and F::f1_score.
struct ClassificationSummaryOptions {
  std::optional<int64_t> label_num =
      std::nullopt;           ///< number of classes; default: the largest label plus 1, which the host waits for
  double beta = 1;            ///< weight of the recall in the F beta score
  int64_t ignore_label = -1;  ///< labels that do not count
};

/// What F::classification_summary returns: (label_num) each, in float32, or float64 for scores of that dtype, and
/// int64 for `support`.
struct ClassificationSummary {
  Variable precision;  ///< of the examples that are said to be of a class, the part that is
  Variable recall;     ///< of the examples of a class, the part that is found
  Variable fbeta;      ///< their weighted harmonic mean (1 + beta^2) p r / (beta^2 p + r)
  Variable support;    ///< the number of examples of each class
};

/// Precision, recall, F beta score and support of each class; NaN where a class has nothing to divide by.
/// y: (N, C, ...), floating: scores, the largest of which predicts. t: (N, ...), integers; y may have further axes of
/// size 1. Labels and predictions of label_num or more belong to no class. Throws TypeError when shapes or dtypes do
/// not fit, IndexError for a negative label that is not ignore_label, ValueError when there is no label and no
/// label_num. Not differentiable. chainer.functions.classification_summary.
KUSARI_API ClassificationSummary classification_summary(const Variable& y, const Variable& t,
                                                        const ClassificationSummaryOptions& options = {});

/// One of its scores, and the support. chainer.functions.precision.
KUSARI_API std::pair<Variable, Variable> precision(const Variable& y, const Variable& t,
                                                   const ClassificationSummaryOptions& options = {});
/// chainer.functions.recall.
KUSARI_API std::pair<Variable, Variable> recall(const Variable& y, const Variable& t,
                                                const ClassificationSummaryOptions& options = {});
/// chainer.functions.evaluation.classification_summary.fbeta_score.
KUSARI_API std::pair<Variable, Variable> fbeta_score(const Variable& y, const Variable& t,
                                                     const ClassificationSummaryOptions& options = {});
/// With beta = 1. chainer.functions.f1_score.
KUSARI_API std::pair<Variable, Variable> f1_score(const Variable& y, const Variable& t,
                                                  const ClassificationSummaryOptions& options = {});

}  // namespace kusari::functions
