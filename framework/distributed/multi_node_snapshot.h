#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/distributed/communicator.h"
#include "kusari/framework/training/extensions/snapshot.h"

namespace kusari::distributed {

/// The same snapshot, one for all ranks: rank 0 writes it, under the name that it has in a run of one process, and with
/// `autoload` all ranks go on from what rank 0 finds, whether they see its files or not. It also holds the persistent
/// values that ranks have for themselves, such as running means, the states of their rows, and what they observed for
/// ObservationAggregator and MultiNodeEarlyStoppingTrigger: a run that is resumed with as many ranks is the run that
/// was not interrupted, to the bit (other reports on other ranks than the root are the root's, and see double_buffering
/// and chainer_compatible of MultiNodeOptimizerOptions); with another number, or by one process alone, it goes on with
/// the same batches and the root's persistent values. Where ranks have different models (MultiNodeChainList), use
/// create_multi_node_checkpointer. Collective: extend all ranks' trainers by it, after what it is to hold.
/// chainermn.extensions.multi_node_snapshot.
KUSARI_API training::extensions::Snapshot multi_node_snapshot(const Communicator& communicator,
                                                              training::extensions::Snapshot snapshot);

}  // namespace kusari::distributed
