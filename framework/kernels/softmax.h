#pragma once

#include "kusari/framework/core/kernel.h"

namespace kusari::kernels {

// x is floating, of any shape and strides; the sums run along one axis, in float32 for half types.

/// y = exp(x) / sum(exp(x)).
struct Softmax {
  static constexpr const char* kName = "softmax";
  using Signature = void(Params<int> axis, In x, Out y);
};

/// gx = y (gy - sum(gy y)), y being the result of Softmax.
struct SoftmaxGrad {
  static constexpr const char* kName = "softmax_grad";
  using Signature = void(Params<int> axis, In y, In gy, Out gx);
};

/// y = x - log(sum(exp(x))).
struct LogSoftmax {
  static constexpr const char* kName = "log_softmax";
  using Signature = void(Params<int> axis, In x, Out y);
};

/// gx = gy - exp(y) sum(gy), y being the result of LogSoftmax.
struct LogSoftmaxGrad {
  static constexpr const char* kName = "log_softmax_grad";
  using Signature = void(Params<int> axis, In y, In gy, Out gx);
};

/// y = log(sum(exp(x))) without overflow; y has x's shape without the axis.
struct Logsumexp {
  static constexpr const char* kName = "logsumexp";
  using Signature = void(Params<int> axis, In x, Out y);
};

struct SoftmaxCrossEntropyOptions {
  int64_t ignore_label = -1;
};

/// loss[i] = -class_weight[t[i]] log(softmax(x)[t[i]]), 0 where t[i] is ignore_label; p = softmax(x).
/// x: (N, C, ...), t: (N, ...) of integers, class_weight: (C) or undefined (ones), loss: t's shape, p: x's shape or
/// undefined. A label outside [0, C) gives NaN.
struct SoftmaxCrossEntropy {
  static constexpr const char* kName = "softmax_cross_entropy";
  using Signature = void(Params<SoftmaxCrossEntropyOptions> options, In x, In t, In class_weight, Out loss, Out p);
};

/// What a mean over labels divides by.
struct MeanLossOptions {
  int64_t ignore_label = -1;
  int64_t count = 0;  ///< the divisor; 0: the number of labels that are not ignore_label, at least 1
};

/// mean = sum(loss) / divisor, for the losses of labels t. mean and divisor: (); divisor is of the dtype of loss, mean
/// of any floating one.
struct MeanLoss {
  static constexpr const char* kName = "mean_loss";
  using Signature = void(Params<MeanLossOptions> options, In loss, In t, Out mean, Out divisor);
};
/// The same by reductions, for devices and sizes where one kernel is no gain.
KUSARI_API void mean_loss_by_reductions(const MeanLossOptions& options, const Array& loss, const Array& t,
                                        const Array& mean, const Array& divisor);

/// gx = g / divisor class_weight[t] (p - onehot(t)), 0 where t is ignore_label. g: t's shape, or one element for all;
/// divisor: one element, or undefined (1).
struct SoftmaxCrossEntropyGrad {
  static constexpr const char* kName = "softmax_cross_entropy_grad";
  using Signature = void(Params<SoftmaxCrossEntropyOptions> options, In p, In t, In class_weight, In g, In divisor,
                         Out gx);
};

}  // namespace kusari::kernels
