#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/ref.h"
#include "kusari/framework/core/shared.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/training/extension.h"
#include "kusari/framework/training/extensions/snapshot_writers.h"

namespace kusari::training::extensions {

struct SnapshotOptions {
  /// Name of the file in the trainer's output directory, or in a directory below that is there. Fields:
  /// {.updater.iteration}, {.updater.epoch}, {.updater.epoch_detail}, none in a directory's name.
  std::string filename = "snapshot_iter_{.updater.iteration}";
  Callable<bool()> condition = {};                                     ///< no snapshot when it says false
  std::optional<Ref<snapshot_writers::Writer>> writer = std::nullopt;  ///< SimpleWriter when not given
  bool snapshot_on_error = false;                                      ///< also when an exception ends the training
  /// Keep this many files, those that are furthest in training as their names say (by iteration, else by epoch), and
  /// the one that was just written; all when not positive. Temporary files of runs that were killed are removed, too.
  int64_t n_retains = -1;
  /// Start from the file that is furthest in training. One that is damaged, or does not fit the trainer, is passed over
  /// with a warning; when none is left, the trainer starts as it is.
  bool autoload = false;
};

/// What several processes do about one snapshot: one writes it, and all go on from what that one has loaded.
class KUSARI_API SnapshotRanks {
 public:
  virtual ~SnapshotRanks();
  virtual bool is_writer() const = 0;
  /// Before the writer saves, on all ranks: collects what each has for itself.
  virtual void gather(Trainer& trainer) = 0;
  /// Writes what was collected, or reads this rank's part of it, as entries beside the target's.
  virtual void serialize(Trainer& trainer, Serializer& serializer) = 0;
  /// Gives all ranks what the writer has loaded (null elsewhere; null there: nothing).
  virtual std::shared_ptr<const serializers::EntrySource> share(
      std::shared_ptr<const serializers::EntrySource> loaded) = 0;

 protected:
  SnapshotRanks() = default;
  SnapshotRanks(const SnapshotRanks&) = default;
  SnapshotRanks& operator=(const SnapshotRanks&) = default;
};

/// Writes a snapshot to a file that appears whole or not at all. See snapshot() and snapshot_object().
class KUSARI_API Snapshot final : public Extension {
 public:
  using Target = Callable<void(Serializer&)>;
  /// Without a target, the trainer. Throws ValueError for a field that is unknown or in a directory's name.
  explicit Snapshot(SnapshotOptions options, Target target = {});

  /// Makes it one of as many processes as there are ranks. `condition` must then say the same on all of them.
  void share_with(Shared<SnapshotRanks> ranks) { ranks_ = std::move(ranks); }

  void operator()(Trainer& trainer) override;
  void initialize(Trainer& trainer) override;
  void finalize() override { writer_->finalize(); }
  void on_error(Trainer& trainer, const std::exception& error) override;
  std::string default_name() const override { return "_Snapshot"; }
  TriggerRef default_trigger() const override { return {1, "epoch"}; }
  int default_priority() const override { return -100; }

 private:
  void load_newest(Trainer& trainer, const std::string& pattern, const std::string& directory);
  void load(Trainer& trainer, std::shared_ptr<const serializers::EntrySource> source);
  bool writes() const { return ranks_ == nullptr || ranks_->is_writer(); }
  void save(Trainer& trainer);
  void visit(Trainer& trainer, Serializer& serializer) const;

  SnapshotOptions options_;
  Target target_;
  Ref<snapshot_writers::Writer> writer_;
  Shared<SnapshotRanks> ranks_;  // null: this process alone
  bool cleanup_hooked_ = false;
};

/// Saves the whole trainer, once an epoch unless told otherwise: what a resumed run needs to go on as if it had not
/// been interrupted. Resume with `.autoload = true`, or with `serializers::load_npz(file, trainer)` before run().
/// chainer.training.extensions.snapshot.
inline Snapshot snapshot(SnapshotOptions options = {}) { return Snapshot(std::move(options)); }

/// Saves one object, which is referred to: a link, an optimizer, anything with serialize(Serializer&). A link may be
/// moved. `snapshot_object(model, "model_iter_{.updater.iteration}")`. chainer.training.extensions.snapshot_object.
template <class T>
Snapshot snapshot_object(T& target, std::string filename, SnapshotOptions options = {}) {
  options.filename = std::move(filename);
  if constexpr (std::derived_from<T, Link>) {
    return Snapshot(std::move(options), [home = target.home()](Serializer& s) { home->get().serialize(s); });
  } else {
    return Snapshot(std::move(options), [object = &target](Serializer& s) { object->serialize(s); });
  }
}

}  // namespace kusari::training::extensions
