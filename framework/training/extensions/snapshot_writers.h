#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/owned.h"
#include "kusari/framework/serializers/npz.h"

namespace kusari::training::extensions::snapshot_writers {

/// Writes entries to the file `path`, whole or not at all. `save_npz` and the other formats' functions are such.
using SaveFunction = Callable<void(const std::string& path, const serializers::NpzDictionary& target)>;

/// Decides when and where the entries of a snapshot are written. chainer.training.extensions.snapshot_writers.Writer.
class KUSARI_API Writer {
 public:
  virtual ~Writer();
  /// Writes the file `path`, whole or not at all. The entries' arrays belong to the training, which goes on changing
  /// them as soon as this returns.
  virtual void operator()(const std::string& path, serializers::NpzDictionary target) = 0;
  /// Waits for what is being written, and throws what went wrong; called when the training loop ends.
  virtual void finalize();
  /// Adds to each .npz file an entry by which who reads it notices that others were changed, added or removed. Files of
  /// a SaveFunction get none: their format may keep less than was given.
  void add_checksums() noexcept { has_checksums_ = is_npz_; }
  /// Called after each file, where it is written: in the writer's thread, or in its process, which shares nothing but
  /// files with this one.
  void add_cleanup_hook(Callable<void()> hook);
  /// The same; the hook is told the path of the file.
  void add_cleanup_hook(Callable<void(const std::string& path)> hook);

 protected:
  explicit Writer(SaveFunction save) : save_{std::move(save)} {}
  /// Files are .npz.
  explicit Writer(const serializers::SaveNpzOptions& options = {});
  Writer(const Writer&) = default;
  Writer& operator=(const Writer&) = default;

  /// Writes a file and calls the hooks. May run in another thread, when the writer itself may be gone.
  Callable<void()> save_task(const std::string& path, serializers::NpzDictionary target) const;

 private:
  SaveFunction save_;
  bool is_npz_ = false, has_checksums_ = false;
  std::vector<Callable<void(const std::string&)>> hooks_;
};

/// Writes at once, in the calling thread.
class KUSARI_API SimpleWriter final : public Writer {
 public:
  explicit SimpleWriter(const serializers::SaveNpzOptions& options = {}) : Writer{options} {}
  explicit SimpleWriter(SaveFunction save) : Writer{std::move(save)} {}
  void operator()(const std::string& path, serializers::NpzDictionary target) override;
};

/// Copies the entries and writes them in a thread of its own, while training goes on. A snapshot that comes while the
/// one before is being written waits for it. What went wrong is thrown by the next call.
class KUSARI_API ThreadWriter final : public Writer {
 public:
  explicit ThreadWriter(const serializers::SaveNpzOptions& options = {});
  explicit ThreadWriter(SaveFunction save);
  ThreadWriter(ThreadWriter&&) noexcept;
  ~ThreadWriter() override;
  void operator()(const std::string& path, serializers::NpzDictionary target) override;
  void finalize() override;

 private:
  struct State;
  Owned<State> state_;
};

/// The same with a queue: snapshots do not wait for each other, and copies of all that are not yet written are in
/// memory. They are written one after another, in one thread.
class KUSARI_API ThreadQueueWriter final : public Writer {
 public:
  explicit ThreadQueueWriter(const serializers::SaveNpzOptions& options = {});
  explicit ThreadQueueWriter(SaveFunction save);
  ThreadQueueWriter(ThreadQueueWriter&&) noexcept;
  ~ThreadQueueWriter() override;
  void operator()(const std::string& path, serializers::NpzDictionary target) override;
  void finalize() override;

 private:
  struct State;
  Owned<State> state_;
};

/// Writes in a process forked for each snapshot, which has the entries as they were at that moment: only those in the
/// memory of devices are copied. A snapshot that comes while the one before is being written waits for it. What went
/// wrong is thrown by the next call. The process ends when the thread that took the snapshot does: a file of a run that
/// was killed never comes after those of the run that goes on.
class KUSARI_API ProcessWriter final : public Writer {
 public:
  explicit ProcessWriter(const serializers::SaveNpzOptions& options = {});
  explicit ProcessWriter(SaveFunction save);
  ProcessWriter(ProcessWriter&&) noexcept;
  ~ProcessWriter() override;
  void operator()(const std::string& path, serializers::NpzDictionary target) override;
  void finalize() override;

 private:
  struct State;
  Owned<State> state_;
};

/// The same with a queue: each process waits for the one before, so that one at a time writes, and training waits for
/// none. Until a snapshot is written, its process keeps all pages of memory that training changes.
class KUSARI_API ProcessQueueWriter final : public Writer {
 public:
  explicit ProcessQueueWriter(const serializers::SaveNpzOptions& options = {});
  explicit ProcessQueueWriter(SaveFunction save);
  ProcessQueueWriter(ProcessQueueWriter&&) noexcept;
  ~ProcessQueueWriter() override;
  void operator()(const std::string& path, serializers::NpzDictionary target) override;
  void finalize() override;

 private:
  struct State;
  Owned<State> state_;
};

}  // namespace kusari::training::extensions::snapshot_writers
