#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/loss/reduce.h"

namespace kusari::functions {

/// What softmax_cross_entropy computes when t is a distribution: -sum(t log p), or that + sum(t log(t + 1e-7)).
enum class SoftTargetLoss : uint8_t { cross_entropy, kl_divergence };

/// Options of F::softmax_cross_entropy, in Chainer's order.
struct SoftmaxCrossEntropyOptions {
  bool normalize = true;         ///< divide by the number of labels that count; otherwise by the batch size
  bool cache_score = true;       ///< keep softmax(x) for backward instead of computing it again
  Array class_weight = Array();  ///< (C), any dtype: a factor per class, a constant that is cast to what x needs
  int64_t ignore_label = -1;     ///< labels that do not count
  Reduce reduce = Reduce::mean;  ///< mean, or no
  /// Accepted for Chainer's sake: second derivatives exist either way.
  bool enable_double_backprop = false;
  SoftTargetLoss soft_target_loss = SoftTargetLoss::cross_entropy;
  double label_smoothing = 0;  ///< of a label's weight, in [0, 1]: what all classes share. Chainer has none
};

/// Cross entropy of softmax(x) against labels: -log softmax(x)[t], averaged over the labels that count.
/// x: (N, C, ...), floating: scores. t: (N, ...), integers in [0, C) or ignore_label; or of x's shape and floating:
/// distributions over the classes, constants of the loss. Returns a scalar of x's dtype, or with Reduce::no one loss
/// per label; reductions of half types run in float32. If no label counts the loss is 0. Throws TypeError when shapes
/// or dtypes do not fit, ValueError for a class_weight of another shape, a label_smoothing beyond [0, 1] or
/// (with config.debug) a label out of range; otherwise such a label gives NaN. Label smoothing: Szegedy et al. 2016.
/// Differentiable to any order by x. chainer.functions.softmax_cross_entropy.
KUSARI_API Variable softmax_cross_entropy(const Variable& x, const Variable& t,
                                          const SoftmaxCrossEntropyOptions& options = {});

}  // namespace kusari::functions
