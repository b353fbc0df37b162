#pragma once

#include <cstdint>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/convert.h"

namespace kusari::datasets {

struct MixOptions {
  int64_t n_classes = 0;  ///< of the targets
  double alpha = 1;       ///< the share of an example is Beta(alpha, alpha) distributed
};

/// A batch whose examples are mixed with others of it.
struct MixedBatch {
  Array x;  ///< of the shape, dtype and memory order of what was mixed
  Array t;  ///< (N, n_classes): the share of each class, as F::softmax_cross_entropy takes it
};

/// Each example of a batch mixed with another: y[i] = a x[i] + (1 - a) x[j[i]], one Beta distributed a for the batch, j
/// a random permutation; targets are mixed alike. Random numbers are the thread's: those of kusari::random, or of the
/// batch within a converter.
/// x: (N, ...), floating. t: (N), integers in [0, n_classes). Targets have x's dtype. Throws TypeError for other shapes
/// and dtypes, ValueError for an alpha that is not positive and finite, for an n_classes below 1, and (on the CPU, or
/// with config.debug) for labels out of range. Zhang et al. 2018 (mixup).
KUSARI_API MixedBatch mixup(const Array& x, const Array& t, const MixOptions& options);

/// Each image of a batch with a rectangle, the same in all, of another: its middle is uniform, its sides are sqrt(1 -
/// a) of the image's, a Beta distributed, and what lies outside is cut off. Targets have the shares of the areas. x:
/// (N, C, H, W), any dtype. Otherwise as mixup; targets have config.dtype where x is not floating. Yun et al. 2019.
KUSARI_API MixedBatch cutmix(const Array& x, const Array& t, const MixOptions& options);

struct MixingConverterOptions {
  int64_t n_classes = 0;     ///< of the targets
  double mixup_alpha = 0;    ///< of mixup; 0: no batch is mixed so
  double cutmix_alpha = 0;   ///< of cutmix, likewise; with both each has half of the batches
  double probability = 1;    ///< of a batch being mixed
  Converter converter = {};  ///< what makes the batch that is mixed; concat_converter() when empty
};

/// A converter for training that mixes the first component of its batches, and replaces the last one, the labels, by
/// targets (N, n_classes), also of batches that are not mixed:
/// `StandardUpdater(iterator, optimizer, {.converter = mixing_converter({.n_classes = 10, .mixup_alpha = 0.2})})`.
/// Computes on the device. Throws ValueError when no alpha is positive, one is negative or not finite, n_classes is
/// below 1, probability is beyond [0, 1], and for batches with labels out of range or fewer than 2 components.
KUSARI_API Converter mixing_converter(MixingConverterOptions options);

}  // namespace kusari::datasets
