#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "kusari/framework/core/export.h"
#include "kusari/framework/distributed/communicator.h"
#include "kusari/optimizers/optimizer.h"

namespace kusari {
struct GradientExchangeOptions;
}

namespace kusari::distributed {

/// What each rank has a part of, instead of all of it.
enum class Sharding : uint8_t {
  kNone,
  kState,      ///< the optimizer's state (ZeRO's first stage)
  kGradients,  ///< the state, and the gradients: as soon as backward is done with them (ZeRO's second stage)
};

/// An option: `true` is Sharding::kState.
class ShardingOption {
 public:
  ShardingOption(bool is_on = false) noexcept : level_{is_on ? Sharding::kState : Sharding::kNone} {}
  ShardingOption(Sharding level) noexcept : level_{level} {}
  operator Sharding() const noexcept { return level_; }

 private:
  Sharding level_;
};

struct MultiNodeOptimizerOptions {
  /// Gradients of one dtype travel together up to this many bytes; what the communicator does when not given.
  std::optional<int64_t> bucket_bytes = std::nullopt;
  /// Exchange gradients while backward computes those of other parameters: in update(lossfun), what StandardUpdater
  /// calls. The results are the same bits. All parameters are exchanged, those without a gradient as zeros.
  bool overlap = false;
  /// Chainer's: take each step with the gradients of the one before, so that their exchange has the time of a step. The
  /// first update takes none, and the last gradients are never used; so it is at a snapshot and after a resume as well.
  /// Not with overlap or amp::GradScaler.
  bool double_buffering = false;
  /// Each rank updates its part of the parameters, and keeps the optimizer's state of that part alone: with N ranks 1/N
  /// of its bytes. The results are the same bits; parameters travel once more, for half of the bytes that the gradients
  /// are. LARS, LAMB and a ComposedOptimizer divide whole parameters among the ranks, others their elements.
  /// UpdateRule::state() is this rank's part, its elements in a row. multi_node_snapshot gathers the state; to save
  /// it otherwise, see gather_optimizer_state.
  /// With Sharding::kGradients each rank gets the mean of its part's gradients alone, and what backward has computed of
  /// the others is freed as it is sent, as with `overlap`, which it implies; after backward parameters have no
  /// gradients. Hooks and observers (also chainer_compatible loss scaling) see whole gradients, which all ranks then
  /// have until the step ends. Not with double_buffering, reproducible or chainer_compatible.
  ShardingOption shard_optimizer = false;
  /// K: each batch is computed in K parts (the examples k, k + K, ...), one after the other on a rank that has several,
  /// and their gradients are added in one binary tree: the same bits with 1, 2, 4, ..., K ranks. K is a power of two.
  /// On the CPU, for gradients of float32 or float64, with update(lossfun, x, t) or StandardUpdater, whose arguments'
  /// first axis must be that of the examples. Random numbers and batch normalization are those of a part: running means
  /// are of the parts that a rank has had, and the only values that still depend on the number of ranks. Layers whose
  /// shapes are not known get them from a forward computation in test mode before. Not with overlap, double_buffering,
  /// an allreduce_grad_dtype, or the communicator "dummy".
  int64_t reproducible = 0;
  /// ChainerMN's loop, for runs that are compared with it: the first update, and each after parameters have got their
  /// shape, gives all ranks the root's parameters and throws the gradients away, so t is one less than the updates;
  /// the others take the mean over ranks that weigh alike, and parameters without a gradient have zeros. setup() shares
  /// nothing. So it is with one rank, too, and after a resume. Not with overlap or reproducible.
  bool chainer_compatible = false;
};

/// How the communicator of that name exchanges gradients.
KUSARI_API GradientExchangeOptions exchange_options(const Communicator& communicator);

namespace detail {
KUSARI_API void make_multi_node(Optimizer& optimizer, const Communicator& communicator,
                                const MultiNodeOptimizerOptions& options);
}

/// The same optimizer, one of as many as there are ranks: `setup` and the first step give all of them the root's
/// parameters, persistent values, optimizer state and random numbers, without losing a gradient; each step takes the
/// mean of the ranks' gradients before hooks, loss scaling and the update see them, so all ranks stay alike. Where the
/// numbers of examples are known (update(model, x, t), StandardUpdater, note_examples) the mean is that over all
/// examples: what one process would compute from the whole batch, up to rounding. A parameter that has a gradient on
/// some ranks only counts as zero on the others. The forward computation of each rank draws random numbers of its own.
/// With one rank nothing changes, to the bit. The rate is not scaled. Steps are collective.
///
/// Collective with `reproducible`. Of an lvalue it gives the reference back, of an rvalue the object. Throws ValueError
/// for a bucket size that is negative, for both overlap and double_buffering, for shard_optimizer with the communicator
/// "dummy", and for a `reproducible` that is no power of two, that the number of ranks does not divide, or that comes
/// with what it does not go with. chainermn.create_multi_node_optimizer, whose first update takes no step:
/// see chainer_compatible.
template <std::derived_from<Optimizer> T>
T& create_multi_node_optimizer(T& optimizer, const Communicator& communicator,
                               const MultiNodeOptimizerOptions& options = {}) {
  detail::make_multi_node(optimizer, communicator, options);
  return optimizer;
}
template <class T>
requires(std::derived_from<T, Optimizer> && !std::is_lvalue_reference_v<T>) T
    create_multi_node_optimizer(T&& optimizer, const Communicator& communicator,
                                const MultiNodeOptimizerOptions& options = {}) {
  T result = std::move(optimizer);
  detail::make_multi_node(result, communicator, options);
  return result;
}

/// For training loops of one's own that call backward() themselves: the gradients of the next step are of so many
/// (more) examples. Ranks of which one does not say so weigh alike. An update(lossfun) that throws forgets them; where
/// the loss is computed elsewhere, note them after its backward(), so that none are left of one that throws.
KUSARI_API void note_examples(Optimizer& optimizer, int64_t examples);
/// With shard_optimizer: gives the root, or all ranks `everywhere`, the whole state of the optimizer, which can then be
/// serialized there, until its next step. Does nothing for other optimizers. Collective.
KUSARI_API void gather_optimizer_state(Optimizer& optimizer, bool everywhere = false);
/// Seconds that the optimizer's steps have waited for other ranks; 0 for one that is not multi-node.
KUSARI_API double exchange_time(const Optimizer& optimizer);

}  // namespace kusari::distributed
