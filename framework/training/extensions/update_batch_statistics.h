#pragma once

#include <optional>
#include <utility>

#include "kusari/framework/core/device.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/convert.h"
#include "kusari/framework/links/call_model.h"
#include "kusari/framework/links/link.h"
#include "kusari/iterators/iterator.h"
#include "kusari/updaters/loss_function.h"

namespace kusari::training::extensions {

struct UpdateBatchStatisticsOptions {
  datasets::Converter converter = {};           ///< concat_examples when not given
  std::optional<Device> device = std::nullopt;  ///< where batches go
  updaters::LossFunction func = {};             ///< called with each batch; the model when not given
};

/// What update_batch_statistics() does with a model of any class; `call` may be null if options.func is given.
KUSARI_API void update_batch_statistics_of(iterators::IteratorRef iterator, Link& model, detail::CallModel call,
                                           const UpdateBatchStatisticsOptions& options);

/// Makes the running statistics of a model's batch normalizations anew, for its parameters as they are now: the plain
/// means over the batches of one sweep, through which the model is called as in training, but without a graph. Frozen
/// normalizations keep theirs, as do those that the model does not call. For averaged parameters:
///
///   average.copy_to(model);
///   extensions::update_batch_statistics(iterators::SerialIterator(train, 100, {.repeat = false}), model);
///
/// Each batch counts alike, and each call of a normalization. After an exception the statistics are of no use. Throws
/// ValueError for an iterator that repeats; StateError when the model has such normalizations but calls none, as a
/// static graph that is replayed does; TypeError for a model that cannot be called with variables.
/// torch.optim.swa_utils.update_bn.
template <LinkType Model>
void update_batch_statistics(iterators::IteratorRef iterator, Model& model,
                             const UpdateBatchStatisticsOptions& options = {}) {
  update_batch_statistics_of(std::move(iterator), model, detail::model_caller<Model>(), options);
}

}  // namespace kusari::training::extensions
