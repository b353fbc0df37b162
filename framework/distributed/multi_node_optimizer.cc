#include "kusari/framework/distributed/multi_node_optimizer.h"

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/collectives.h"
#include "kusari/optimizers/optimizer_access.h"

namespace kusari::distributed {

void detail::make_multi_node(Optimizer& optimizer, const Communicator& communicator,
                             const MultiNodeOptimizerOptions& options) {
  GradientExchangeOptions exchange = exchange_options(communicator);
  if (options.bucket_bytes) {
    exchange.bucket_bytes =
        argument::not_negative("create_multi_node_optimizer", "bucket_bytes", *options.bucket_bytes);
  }
  if (options.overlap && options.double_buffering) {
    throw ValueError("create_multi_node_optimizer: overlap and double_buffering are both given: one of them must do");
  }
  exchange.overlaps = options.overlap;
  exchange.double_buffering = options.double_buffering;
  kusari::detail::attach_exchange(optimizer, std::make_shared<GradientExchange>(communicator.shared_group(), exchange));
}

void note_examples(Optimizer& optimizer, int64_t examples) {
  argument::not_negative("note_examples", "examples", examples);
  kusari::detail::OptimizerAccess::note_examples(optimizer, examples);
}

double exchange_time(const Optimizer& optimizer) {
  const GradientExchange* const exchange = kusari::detail::exchange_of(optimizer);
  return exchange != nullptr ? exchange->waited() : 0;
}

}  // namespace kusari::distributed
