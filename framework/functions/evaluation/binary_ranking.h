#pragma once

#include <cstdint>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

// How well scores put the examples of a class before the others, whatever the threshold. y: any shape, floating: the
// larger, the likelier. t: y's shape, integers: 1 for the class, 0 for the others, ignore_label where an example does
// not count. Both return a scalar in float32, or float64 for scores of that dtype, on y's device; they are computed in
// float64 on the host, in the time of sorting. They throw TypeError when shapes or dtypes do not fit, ValueError for
// another label and for a score that is NaN. Not differentiable.
namespace kusari::functions {

/// The area under the receiver operating characteristic: the probability that an example of the class has a larger
/// score than one of the others, where equal scores count a half (trapezoids between thresholds, mid ranks). NaN unless
/// there are examples of both. Hanley and McNeil 1982; sklearn.metrics.roc_auc_score.
KUSARI_API Variable roc_auc_score(const Variable& y, const Variable& t, int64_t ignore_label = -1);

/// The sum of (R_n - R_(n-1)) P_n over the thresholds, from the largest: P_n and R_n are precision and recall when all
/// examples are found whose scores are at least the n-th of the different scores. NaN when no example is of the class.
/// sklearn.metrics.average_precision_score.
KUSARI_API Variable average_precision_score(const Variable& y, const Variable& t, int64_t ignore_label = -1);

}  // namespace kusari::functions
