#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kusari/framework/core/device.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/owned.h"
#include "kusari/framework/core/ref.h"
#include "kusari/framework/datasets/convert.h"
#include "kusari/framework/links/link.h"
#include "kusari/iterators/iterator.h"
#include "kusari/optimizers/optimizer.h"
#include "kusari/updaters/replica_loss.h"
#include "kusari/updaters/standard_updater.h"

namespace kusari::updaters {

/// Models by the names of their devices.
using NamedModels = std::vector<std::pair<std::string, Ref<Link>>>;
/// Devices by their names.
using NamedDevices = std::vector<std::pair<std::string, Device>>;

/// A model whose class, and thereby how to copy it, is known where it is given.
class ReplicaSource {
 public:
  ReplicaSource() = default;
  template <LinkType Model>
  requires std::is_copy_constructible_v<Model> ReplicaSource(const Model& model)
      : model_{&model}, copy_{[](const Link& link) -> Owned<Link> {
          const kusari::detail::CopyScope scope(CopyMode::copy);
          return Owned<Link>(new Model(static_cast<const Model&>(link)));
        }} {}

  /// Null when none is given.
  const Link* model() const noexcept { return model_; }
  /// Another model, with the same values in parameters of its own.
  Owned<Link> copy() const { return copy_(*model_); }

 private:
  const Link* model_ = nullptr;
  Owned<Link> (*copy_)(const Link& model) = nullptr;
};

struct ParallelUpdaterOptions {
  datasets::Converter converter = {};  ///< of each part of a batch; concat_examples when not given
  ReplicaSource model = {};            ///< the optimizer's target, which is copied for each device but main's
  /// In place of `model`: the replicas, among them the optimizer's target as "main", all of its class.
  NamedModels models = {};
  /// Where the replica of each name works; when not given, where the models are.
  NamedDevices devices = {};
  ReplicaLoss loss_func = {};                       ///< the replicas themselves when not given
  std::optional<double> loss_scale = std::nullopt;  ///< a fixed loss scale
  bool auto_new_epoch = true;                       ///< call Optimizer::new_epoch at the end of each sweep
  /// Optimizer::loss_scaling: `.loss_scaling = LossScalingOptions{}` is dynamic. Not with loss_scale.
  std::optional<LossScalingOptions> loss_scaling = std::nullopt;
  /// Batches that are sent to the devices ahead of their turn, while those compute. Results are the same.
  int64_t prefetch = 0;
  /// Weigh each part by its share of the batch: the step of a StandardUpdater, for losses that are means over the
  /// batch. Otherwise the gradients of the parts' losses are summed as in Chainer, which is right for losses that are
  /// sums: those of means are with equal parts as many times larger as there are replicas, and in a batch of unequal
  /// parts, as the last one may be, an example of a smaller part counts for more.
  bool average = false;
};

/// A StandardUpdater whose batches are computed in parts by several replicas of the model, each on its device:
///
///     ParallelUpdater updater(
///         iterator, optimizer,
///         {.model = model, .devices = {{"main", get_device("cuda:0")}, {"second", get_device("cuda:1")}}});
///
/// Of n replicas, "main" first and the others in their order, replica i takes the examples i, i + n, i + 2n, ...; those
/// that a small batch leaves without examples do nothing. In each step the replicas get the parameters and persistent
/// values of main, compute gradients at the same time, those on one GPU one after another, and main, which alone has an
/// optimizer and is saved in snapshots, takes the step for the sum of the gradients. Persistent values that the other
/// replicas change (statistics of batch normalization) are given up: they are those of main's part.
///
/// What the replicas report is averaged, weighted by the sizes of their parts, under main's names. Each replica but
/// main draws random numbers (dropout) from a stream of its own. Threads other than the caller's have its config and
/// Autocast region, but not its function hooks. If replicas throw, the others finish, and update() throws what the
/// first of them threw; the next update() goes on with the next batch. With a multi-node optimizer all ranks must have
/// as many replicas; its step throws StateError otherwise. chainer.training.updaters.ParallelUpdater.
class KUSARI_API ParallelUpdater : public StandardUpdater {
 public:
  /// Throws KeyError without a replica "main" and for models that differ in their parameters; ValueError without
  /// replicas, for two of one name, for names that are not those of `models`, for both `model` and `models` or, with
  /// several devices, neither, and for another model or "main" than the target.
  ParallelUpdater(iterators::IteratorRef iterator, Ref<Optimizer> optimizer, ParallelUpdaterOptions options);
  ParallelUpdater(ParallelUpdater&&) noexcept;
  ParallelUpdater& operator=(ParallelUpdater&&) noexcept;
  ~ParallelUpdater() override;

  /// Names, in the order in which the replicas get their examples.
  std::vector<std::string> replica_names() const;
  Link& replica(const std::string& name);

  void finalize() override;

 protected:
  void update_core() override;

 private:
  struct Impl;
  Owned<Impl> impl_;
};

}  // namespace kusari::updaters
