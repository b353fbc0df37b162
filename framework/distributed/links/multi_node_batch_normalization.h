#pragma once

#include <memory>
#include <utility>

#include "kusari/framework/core/export.h"
#include "kusari/framework/distributed/communicator.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/normalization/batch_normalization.h"

namespace kusari::distributed {

/// The statistics of the batches of all ranks together, each element counting the same: numbers of elements, means and
/// sums of squared differences travel once a call, in float64, and are merged after Chan et al. 1979 on each rank,
/// which gives the same bits on all. Backward sums what the ranks want of each other's statistics.
///
/// What a rank sends back is weighed by its number of examples (the size of x's first axis) over the receiver's: so the
/// gradients are right where the loss of a rank is a mean over its own examples, and gradients are averaged by numbers
/// of examples, as create_multi_node_optimizer does. Ranks with equal batches need not think of it.
class KUSARI_API CommunicatorStatistics final : public links::StatisticsExchange {
 public:
  explicit CommunicatorStatistics(const Communicator& comm) : comm_{comm} {}
  links::BatchMoments moments(const Variable& x, const Dims& axis, Dtype dtype) const override;

 private:
  Communicator comm_;
};

/// L::BatchNormalization by the statistics of the batches of all ranks, while training; the moving averages are those
/// of all ranks too, the variances with the unbiased factor of the whole batch. All ranks call it at the same time, and
/// go backward through it, also with a batch of no examples. In Chainer the unbiased factor is that of a rank's own
/// batch, and the ranks weigh the same whatever the sizes of their batches. Throws what L::BatchNormalization throws,
/// and RemoteError as Communicator does. chainermn.links.MultiNodeBatchNormalization.
class KUSARI_API MultiNodeBatchNormalization : public links::BatchNormalization {
 public:
  MultiNodeBatchNormalization(const Shape& size, const Communicator& comm, Options options = {});
  MultiNodeBatchNormalization(int64_t size, const Communicator& comm, Options options = {})
      : MultiNodeBatchNormalization(Shape{size}, comm, std::move(options)) {}
};

/// Lets each L::BatchNormalization of the model, at any depth, take the statistics of all ranks.
KUSARI_API void synchronize_batch_normalizations(Link& model, const Communicator& comm);

/// A copy of the model in which each L::BatchNormalization takes the statistics of all ranks, as
/// MultiNodeBatchNormalization does. Parameters and statistics are copies. chainermn.links.create_mnbn_model.
template <LinkType T>
T create_mnbn_model(const T& link, const Communicator& comm) {
  T copied = copy(link, CopyMode::copy);
  synchronize_batch_normalizations(copied, comm);
  return copied;
}

}  // namespace kusari::distributed
