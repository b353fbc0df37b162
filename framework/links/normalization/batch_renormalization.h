#pragma once

#include <optional>

#include "kusari/framework/links/normalization/batch_statistics.h"

namespace kusari::links {

/// Options of L::BatchRenormalization.
struct BatchRenormalizationOptions {
  double rmax = 1;                  ///< largest correction of the deviation, at least 1
  double dmax = 0;                  ///< largest correction of the mean, in deviations
  double decay = 0.9;               ///< of the moving averages
  double eps = 2e-5;                ///< added to the variances
  std::optional<Dtype> dtype = {};  ///< of parameters and averages; default: config.dtype, float32 if mixed
  bool use_gamma = true;            ///< false: no scale
  bool use_beta = true;             ///< false: no shift
  Initializer initial_gamma = 1;
  Initializer initial_beta = 0;
  Initializer initial_avg_mean = 0;
  Initializer initial_avg_var = 1;
};

/// Batch normalization that corrects the statistics of a batch towards the moving averages while training, within the
/// limits rmax and dmax; see F::batch_renormalization. x: (N, size, ...). Otherwise as BatchNormalization.
/// chainer.links.BatchRenormalization.
class KUSARI_API BatchRenormalization : public BatchStatistics {
 public:
  using Options = BatchRenormalizationOptions;
  /// size: number of channels; kInfer takes it from the first x.
  explicit BatchRenormalization(int64_t size, Options options = {});

  Variable operator()(const Variable& x, const BatchNormalizationCall& call = {}) const;

  double rmax;  ///< may be raised while training goes on
  double dmax;

 private:
  mutable Array previous_mean_, previous_var_;  // what the last call saw: a recomputation must see it again
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
