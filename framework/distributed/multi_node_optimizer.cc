#include "kusari/framework/distributed/multi_node_optimizer.h"

#include <string>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/collectives.h"
#include "kusari/optimizers/batch_part.h"
#include "kusari/optimizers/optimizer_access.h"

namespace kusari::distributed {

namespace {

/// The exchange joins neighbours first, and rank r has the examples r, r + N, ...: what is joined first in a tree of
/// parts that are computed by fewer ranks are ranks r and r + N / 2.
std::shared_ptr<collectives::Group> group_of(const Communicator& communicator,
                                             const GradientExchangeOptions& exchange) {
  if (exchange.parts == 0 || communicator.size() == 1) return communicator.shared_group();
  const int64_t place = kusari::detail::bit_reversed(communicator.rank(), communicator.size());
  return communicator.shared_group()->split(0, static_cast<int>(place));
}

void check_parts(const Communicator& communicator, const MultiNodeOptimizerOptions& options,
                 const GradientExchangeOptions& exchange) {
  if (options.reproducible == 0) return;
  const std::string call = "create_multi_node_optimizer: reproducible is " + std::to_string(options.reproducible);
  if (options.reproducible < 0 || (options.reproducible & (options.reproducible - 1)) != 0 ||
      options.reproducible % communicator.size() != 0) {
    throw ValueError(call + " with " + std::to_string(communicator.size()) +
                     " ranks: it must be a power of two that the number of ranks divides");
  }
  if (options.overlap || options.double_buffering || exchange.wire_dtype || !exchange.exchanges) {
    throw ValueError(call +
                     ": it does not go with overlap, double_buffering, an allreduce_grad_dtype, or the "
                     "communicator 'dummy'");
  }
}

}  // namespace

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
  const Sharding sharding = options.shard_optimizer;
  if (sharding != Sharding::kNone && !exchange.exchanges) {
    throw ValueError("create_multi_node_optimizer: shard_optimizer is given, but the communicator '" +
                     communicator.name() + "' exchanges nothing");
  }
  if (options.chainer_compatible && (options.overlap || options.reproducible != 0)) {
    throw ValueError(
        "create_multi_node_optimizer: chainer_compatible is given with overlap or reproducible, which ChainerMN has "
        "not");
  }
  exchange.chainer_compatible = options.chainer_compatible;
  check_parts(communicator, options, exchange);
  if (sharding == Sharding::kGradients &&
      (options.double_buffering || options.reproducible != 0 || options.chainer_compatible)) {
    throw ValueError(
        "create_multi_node_optimizer: shard_optimizer is kGradients, and double_buffering, reproducible or "
        "chainer_compatible is given, which need whole gradients");
  }
  exchange.shards_state = sharding != Sharding::kNone;
  exchange.shards_gradients = sharding == Sharding::kGradients;
  exchange.overlaps = options.overlap || exchange.shards_gradients;
  exchange.double_buffering = options.double_buffering;
  exchange.parts = options.reproducible;
  if (communicator.size() == 1 && exchange.parts == 0 && !exchange.double_buffering && !exchange.chainer_compatible) {
    kusari::detail::attach_exchange(optimizer, nullptr);  // there is nothing to do together
    return;
  }
  kusari::detail::attach_exchange(optimizer,
                                  std::make_shared<GradientExchange>(group_of(communicator, exchange), exchange));
}

void note_examples(Optimizer& optimizer, int64_t examples) {
  argument::not_negative("note_examples", "examples", examples);
  kusari::detail::OptimizerAccess::note_examples(optimizer, examples);
}

void gather_optimizer_state(Optimizer& optimizer, bool everywhere) {
  kusari::detail::OptimizerAccess::gather_state(optimizer, everywhere);
}

double exchange_time(const Optimizer& optimizer) {
  const GradientExchange* const exchange = kusari::detail::exchange_of(optimizer);
  return exchange != nullptr ? exchange->waited() : 0;
}

}  // namespace kusari::distributed
