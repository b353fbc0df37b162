#pragma once

#include <cstdint>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// What the losses of a batch of images are divided by, n_i being the positive anchors of image i.
enum class DetectionNormalizer : uint8_t {
  batch,            ///< 1 + sum n_i: EfficientDet's
  images_plus_one,  ///< sum (n_i + 1): Detectron's
  image,            ///< max(1, n_i) for each image, and the mean over images: torchvision's RetinaNet
  positives,        ///< max(1, sum n_i): SSD's
  none,             ///< 1: the sum
};

/// Options of F::sigmoid_focal_loss.
struct SigmoidFocalLossOptions {
  double alpha = 0.25;  ///< weight of positives, in [0, 1]; negatives have 1 - alpha
  double gamma = 2;     ///< how little count those that are right already: not negative
  DetectionNormalizer normalizer = DetectionNormalizer::batch;
  Array positives = {};  ///< (N), any dtype: the n_i, where they are not the labels that are 0 or more
};

/// Focal loss of independent classes: the sum over anchors and classes of a (1 - p)^gamma (-log p), where p is
/// sigmoid(x) and a is alpha for the anchor's class, 1 - sigmoid(x) and 1 - alpha for the others; divided by the
/// normalizer. Neither one-hot targets nor probabilities are kept, so that x's gradient is all that a call adds to the
/// memory that x takes.
/// x: (N, K, C), floating: scores of C classes for K anchors in N images. t: (N, K), integers: the class, -1 for
/// anchors of the background, which count as negative for each class, -2 for those that do not count. Returns a scalar,
/// float32 for 16-bit x, which is summed and divided in float32; else of x's dtype. Throws TypeError when shapes or
/// dtypes do not fit, ValueError for options out of range. Differentiable to any order by x.
/// Lin et al. 2017; torchvision.ops.sigmoid_focal_loss.
KUSARI_API Variable sigmoid_focal_loss(const Variable& x, const Variable& t,
                                       const SigmoidFocalLossOptions& options = {});

/// d_i, (N) of `dtype`, with which a loss of N images is sum_i(L_i / d_i). t: (N, K), integers as above. positives: (N)
/// or undefined: then the labels of each image that are 0 or more are counted. Nothing is read on the host.
KUSARI_API Array detection_divisors(DetectionNormalizer normalizer, const Array& t, const Array& positives,
                                    Dtype dtype);

}  // namespace kusari::functions
