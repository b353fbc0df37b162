#pragma once

#include <cstdint>
#include <optional>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Options of F::confusion_matrix.
struct ConfusionMatrixOptions {
  std::optional<int64_t> label_num = std::nullopt;  ///< number of classes; default: that of the scores, or the largest
                                                    ///< label or prediction that counts plus 1
  int64_t ignore_label = -1;                        ///< labels that do not count, whatever is predicted there
};

/// How often each class is taken for each: element (i, j) counts the examples of class i that are said to be of class
/// j. y: (N, C, ...), floating: scores, the largest of which predicts; or t's shape, integers: the predicted classes.
/// t: (N, ...), integers. Returns (label_num, label_num), int64, on y's device. Counted on the host. Throws TypeError
/// when shapes or dtypes do not fit, IndexError for a label or prediction outside [0, label_num) that counts,
/// ValueError when no label counts, y holds classes and label_num is not given. Not differentiable.
/// sklearn.metrics.confusion_matrix.
KUSARI_API Variable confusion_matrix(const Variable& y, const Variable& t, const ConfusionMatrixOptions& options = {});

}  // namespace kusari::functions
