#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/distributed/communicator.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/training/extension.h"
#include "kusari/framework/training/trainer.h"

namespace kusari::distributed {

/// Options of create_multi_node_checkpointer.
struct MultiNodeCheckpointerOptions {
  int64_t cp_interval = 5;  ///< checkpoints that are kept at least
  int64_t gc_interval = 5;  ///< checkpoints beside those after which old ones are removed
  std::string path = {};    ///< the directory; the trainer's output directory when empty
};

/// Each rank writes its own snapshots, NAME.RANK.ITERATION, which appear whole or not at all, keeps the newest that all
/// ranks have, and begins from the newest of them. For models of which each rank has another part; where all have the
/// same, multi_node_snapshot writes less. The name may have folders in it.
///
///   auto checkpointer = distributed::create_multi_node_checkpointer("run", comm);
///   trainer.extend(checkpointer, {.trigger = {25, "iteration"}});
///   checkpointer.maybe_load(trainer);   // after all other extensions were added
///   trainer.run();
///
/// The files are removed when training comes to its end, and stay when an exception or a signal ends it. (Chainer's are
/// removed by exceptions as well.) All ranks save and load at the same time.
/// Throws ValueError for an empty name and intervals that are not positive. chainermn.create_multi_node_checkpointer.
class KUSARI_API MultiNodeCheckpointer final : public training::Extension {
 public:
  MultiNodeCheckpointer(std::string name, const Communicator& comm, MultiNodeCheckpointerOptions options = {});

  void operator()(training::Trainer& trainer) override;
  /// Writes an object, anything with serialize(Serializer&), as that of an iteration. Throws StateError where neither
  /// the options nor a trainer have named a directory.
  template <class T>
  void save(T& target, int64_t iteration) {
    Content<T> content{*this, target};
    save_as(iteration, [&](const std::string& file) { serializers::save_npz(file, content); });
  }
  /// Gives the object what it was at the newest iteration that all ranks have, if any; nothing otherwise. Where a
  /// rank's file is damaged, does not fit or is of another number of ranks, all take the one before, with a warning;
  /// IoError when there is none that all can read. A rank that has files where there is nothing to load warns. `path`:
  /// the directory, when the options name none; a trainer's output directory when empty. Returns the iteration.
  template <class T>
  std::optional<int64_t> maybe_load(T& target, const std::string& path = {}) {
    if constexpr (std::is_base_of_v<training::Trainer, T>) {
      find_directory(path.empty() ? target.out() : path);
    } else {
      find_directory(path);
    }
    Content<T> content{*this, target};
    return load_newest([&](const std::string& file) { serializers::load_npz(file, content); });
  }
  /// "Snapshot duration stats (sec): avg=0.120000, min=0.100000, max=0.140000", or "No stats available".
  std::string get_stats() const;

  void finalize() override;
  void on_error(training::Trainer& trainer, const std::exception& error) override;
  std::string default_name() const override { return "_MultiNodeCheckpointer"; }
  int default_priority() const override { return -100; }

 private:
  // Of a file.
  template <class T>
  struct Content {
    const MultiNodeCheckpointer& checkpointer;
    T& target;
    void serialize(Serializer& serializer) {
      checkpointer.serialize_ranks(serializer);
      target.serialize(serializer);
    }
  };

  void serialize_ranks(Serializer& serializer) const;
  void find_directory(const std::string& path);
  std::string file_of(int64_t iteration) const;
  std::vector<int64_t> iterations_on_disk() const;
  void keep_common();
  void remove_superseded();
  void save_as(int64_t iteration, const Callable<void(const std::string&)>& write);
  std::optional<int64_t> load_newest(const Callable<void(const std::string&)>& read);

  std::string name_;
  Communicator comm_;
  MultiNodeCheckpointerOptions options_;
  std::vector<int64_t> iterations_;  // with files of all ranks, rising
  std::vector<int64_t> superseded_;  // with files of this rank that are removed next time
  std::vector<double> durations_;    // of the saves, seconds
  bool failed_ = false;
};

/// MultiNodeCheckpointer. chainermn.create_multi_node_checkpointer.
inline MultiNodeCheckpointer create_multi_node_checkpointer(std::string name, const Communicator& comm,
                                                            MultiNodeCheckpointerOptions options = {}) {
  return MultiNodeCheckpointer(std::move(name), comm, std::move(options));
}

}  // namespace kusari::distributed
