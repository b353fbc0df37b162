#pragma once

#include <concepts>
#include <utility>

#include "kusari/framework/core/export.h"
#include "kusari/framework/distributed/communicator.h"
#include "kusari/framework/training/extensions/evaluator.h"

namespace kusari::distributed {

namespace detail {
KUSARI_API void make_multi_node(training::extensions::Evaluator& evaluator, const Communicator& communicator);
}

/// The same evaluator, of which each rank looks at its part of the data and reports the means of all: where its
/// iterator has `.shard`, each batch's mean is that over the ranks' examples of it, and the result is what one process
/// with the whole batches reports; otherwise all batches of all ranks weigh alike. A value that some ranks do not
/// report is the mean of the others'. Of evaluators that override evaluate(), such as those of detectors, it is the
/// mean of the ranks' results. All ranks report the same numbers. Evaluations are collective: extend all ranks'
/// trainers by it. chainermn.create_multi_node_evaluator, which weighs ranks alike whatever they have seen.
template <std::derived_from<training::extensions::Evaluator> T>
T create_multi_node_evaluator(T evaluator, const Communicator& communicator) {
  detail::make_multi_node(evaluator, communicator);
  return evaluator;
}

}  // namespace kusari::distributed
