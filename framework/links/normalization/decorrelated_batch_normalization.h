#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/normalization/batch_statistics.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::links {

/// Options of L::DecorrelatedBatchNormalization.
struct DecorrelatedBatchNormalizationOptions {
  int64_t groups = 16;           ///< channels are whitened in groups of size / groups
  double decay = 0.9;            ///< of the moving averages
  double eps = 2e-5;             ///< added to the diagonal of the covariances
  Dtype dtype = Dtype::float32;  ///< of the averages
};

/// y = P (x - mean) within each group of channels: whitening by the statistics of the batch while training, which also
/// enter the moving averages, and by those averages otherwise. x: (N, size, ...). Throws what
/// F::decorrelated_batch_normalization throws, and ValueError when groups do not divide size.
/// chainer.links.DecorrelatedBatchNormalization.
class KUSARI_API DecorrelatedBatchNormalization : public Link {
 public:
  using Options = DecorrelatedBatchNormalizationOptions;
  explicit DecorrelatedBatchNormalization(int64_t size, Options options = {});

  Variable operator()(const Variable& x, const BatchNormalizationCall& call = {}) const;
  bool keeps_float32() const noexcept override { return true; }
  /// Forgets how many batches were averaged: the next call with {.finetune = true} starts anew.
  void start_finetuning() noexcept { N = 0; }
  /// Also reads the averages of Chainer before version 7, which all groups shared.
  void serialize(Serializer& serializer) override;

  int64_t groups;
  double decay;
  double eps;
  mutable Persistent avg_mean;          ///< (groups, size / groups)
  mutable Persistent avg_projection;    ///< (groups, size / groups, size / groups)
  mutable PersistentScalar<int64_t> N;  ///< batches averaged with {.finetune = true}
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
