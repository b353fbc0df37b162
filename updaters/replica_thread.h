#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "kusari/framework/core/callable.h"

namespace kusari::updaters {

/// A thread that does one job at a time.
class ReplicaThread {
 public:
  /// Throws WorkerError when the system gives no thread.
  ReplicaThread();
  ReplicaThread(const ReplicaThread&) = delete;
  ReplicaThread& operator=(const ReplicaThread&) = delete;
  /// Waits for the job.
  ~ReplicaThread();

  /// Begins a job, which must not throw; the last one is done.
  void begin(Callable<void()> job);
  void wait();

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  Callable<void()> job_;  // of the thread, until it is done
  bool ends_ = false;
  std::thread thread_;  // the last member: it uses the others
};

}  // namespace kusari::updaters
