#pragma once

#include <cstdint>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::links {

struct LoraLinearOptions {
  int64_t rank = 8;            ///< of the correction
  double alpha = 8;            ///< the correction counts alpha / rank
  Initializer initial_a = {};  ///< default: LeCunNormal
};

/// A trained L::Linear with a correction of low rank, which alone learns: y = x W^T + b + alpha / rank (x A^T) B^T. B
/// begins at 0, so that the link begins as the one that it was made from. W and b get no gradient and are frozen, as by
/// disable_update(). x: (N, ...), its axes after the first `n_batch_axes` flattened; returns (N, out_size). Snapshots
/// have "base/W", "base/b", "A" and "B". Hu et al. 2021, LoRA: low-rank adaptation of large language models (Chainer
/// has none).
class KUSARI_API LoraLinear : public Chain {
 public:
  using Options = LoraLinearOptions;
  /// `linear` is copied or moved here; where its input size is not known, the first batch decides it. Throws ValueError
  /// unless rank is positive and alpha finite.
  explicit LoraLinear(Linear linear, Options options = {});

  Variable operator()(const Variable& x) const { return (*this)(x, 1); }
  Variable operator()(const Variable& x, int n_batch_axes) const;
  /// A link that is not frozen and computes the same: with W + alpha / rank B A, summed in float32 at least. Throws
  /// StateError while the input size is not known.
  Linear merge() const;

  Child<Linear> base;  ///< what is corrected, frozen
  Parameter A;         ///< (rank, in_size)
  Parameter B;         ///< (out_size, rank)

 private:
  double scale_;
};

}  // namespace kusari::links
