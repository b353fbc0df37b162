#pragma once

#include <cstdint>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Options of F::discriminative_margin_based_clustering_loss.
struct DiscriminativeLossOptions {
  int norm = 1;          ///< of distances: 1 or 2
  double alpha = 1;      ///< weight of the variance
  double beta = 1;       ///< weight of the distance
  double gamma = 0.001;  ///< weight of the regularization
};

/// What F::discriminative_margin_based_clustering_loss returns: scalars.
struct DiscriminativeLoss {
  Variable variance;        ///< pulls the pixels of an instance together
  Variable distance;        ///< pushes the centres of instances apart
  Variable regularization;  ///< pulls the centres to the origin
};

/// Loss of embeddings of pixels for the segmentation of instances. With m[k, n] the mean embedding of instance k + 1 in
/// image n, zero without a pixel, and |.| the norm:
/// variance: the mean over instances k of the mean over their pixels p of max(|m[k] - p| - delta_v, 0)^2.
/// distance: the mean over images and pairs of instances of max(2 delta_d - |m[a] - m[b]|, 0)^2.
/// regularization: the sum over instances of |m[k]|, over all images at once, divided by their number and that of the
/// images.
/// embeddings: (N, K, H, W), floating. labels: (N, H, W), integers: 1 to K for instances, others for no instance.
/// max_embedding_dim: K. Throws TypeError when shapes or dtypes do not fit, ValueError for another norm or K.
/// Differentiable to any order by the embeddings; the norm 2 has the derivative 0 at 0. De Brabandere et al. 2017;
/// chainer.functions.discriminative_margin_based_clustering_loss.
KUSARI_API DiscriminativeLoss discriminative_margin_based_clustering_loss(
    const Variable& embeddings, const Variable& labels, double delta_v, double delta_d, int64_t max_embedding_dim,
    const DiscriminativeLossOptions& options = {});

}  // namespace kusari::functions
