#pragma once

#include "kusari/framework/core/callable.h"

namespace kusari::training::extensions::snapshot_writers {

/// A process that is forked to do one thing, and in which nothing else happens. The system kills it when the thread
/// that made it ends.
class WriterProcess {
 public:
  /// With `before`, the new process first waits until that one has ended. Throws WorkerError when none can be made.
  explicit WriterProcess(const Callable<void()>& task, const WriterProcess* before = nullptr);
  WriterProcess(const WriterProcess&) = delete;
  WriterProcess& operator=(const WriterProcess&) = delete;
  /// Waits.
  ~WriterProcess();

  bool has_ended() noexcept;
  /// Until it has ended. Throws IoError with the text of what the task threw, WorkerError when the process was killed.
  void wait();

 private:
  struct Outcome;

  void reap(int options) noexcept;

  int process_ = -1;     // -1: it has ended
  int descriptor_ = -1;  // of the process, for those who wait for it; -1 where the system has none
  int status_ = 0;
  Outcome* outcome_ = nullptr;  // in memory that both processes see
};

}  // namespace kusari::training::extensions::snapshot_writers
