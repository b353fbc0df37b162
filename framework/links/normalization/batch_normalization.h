#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "kusari/framework/functions/normalization/batch_normalization.h"
#include "kusari/framework/links/connection/convolution_nd.h"
#include "kusari/framework/links/normalization/batch_statistics.h"
#include "kusari/framework/links/normalization/statistics_exchange.h"

namespace kusari::links {

/// Options of L::BatchNormalization.
struct BatchNormalizationOptions {
  double decay = 0.9;               ///< of the moving averages
  double eps = 2e-5;                ///< added to the variances
  std::optional<Dtype> dtype = {};  ///< of parameters and averages; default: config.dtype, float32 if mixed
  bool use_gamma = true;            ///< false: no scale
  bool use_beta = true;             ///< false: no shift
  Initializer initial_gamma = 1;
  Initializer initial_beta = 0;
  Dims axis = {};  ///< axes to average over; empty: the first and those behind the size's
  Initializer initial_avg_mean = 0;
  Initializer initial_avg_var = 1;
  bool frozen = false;  ///< see BatchNormalization::freeze
};

/// y = gamma (x - mean) / sqrt(var + eps) + beta: by the statistics of the batch while training, which also enter the
/// moving averages, and by those averages otherwise. A call is const also while training: the averages are no part of
/// what const protects. x: (N, size..., spatial...), or any shape of which `axis` leaves the size. Throws what
/// F::batch_normalization throws. chainer.links.BatchNormalization.
class KUSARI_API BatchNormalization : public BatchStatistics {
 public:
  using Options = BatchNormalizationOptions;
  /// size: number of channels; kInfer takes it from the first x.
  explicit BatchNormalization(int64_t size, Options options = {})
      : BatchNormalization(Shape{size}, std::move(options)) {}
  /// Several axes of size, each of which may be kInfer.
  explicit BatchNormalization(const Shape& size, Options options = {});

  Variable operator()(const Variable& x, const BatchNormalizationCall& call = {}) const;
  /// relu(bn(x)) in one pass over the memory.
  Variable relu(const Variable& x, const BatchNormalizationCall& call = {}) const;
  /// conv.with_sums(relu(x.y)), while training by functions::batch_normalization_relu_convolution.
  functions::ConvolutionWithSums relu_convolution(const functions::ConvolutionWithSums& x,
                                                  const ConvolutionND& conv) const;
  /// relu(bn(x) + residual) in one pass over the memory.
  Variable add_relu(const Variable& x, const Variable& residual, const BatchNormalizationCall& call = {}) const;

  /// While training, statistics come from there instead of from x alone; none: from x. Copies of the link share it.
  void set_exchange(std::shared_ptr<const StatisticsExchange> exchange) noexcept { exchange_ = std::move(exchange); }
  const std::shared_ptr<const StatisticsExchange>& exchange() const noexcept { return exchange_; }

  /// From now on the link does not learn: it normalizes by its averages, which stay as they are, also while training,
  /// and gamma and beta get neither gradients nor updates. For batches too small for statistics.
  /// torchvision.ops.FrozenBatchNorm2d.
  void freeze();
  /// The opposite.
  void unfreeze();
  bool is_frozen() const noexcept { return is_frozen_; }

 private:
  struct Fixed {
    Variable scale, shift, mean, var;
  };

  bool takes_batch_statistics() const;
  functions::BatchNormalizationOptions training_options(const BatchNormalizationCall& call) const;
  Fixed fixed(const Variable& x, const BatchNormalizationCall& call) const;
  Dims aggregated_axes(int ndim) const;

  std::shared_ptr<const StatisticsExchange> exchange_;
  bool is_frozen_ = false;
};

/// Freezes all normalizations by batches of a model.
KUSARI_API void freeze_batch_normalization(Link& model);

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
