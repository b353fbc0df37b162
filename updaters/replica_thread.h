#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

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
  void begin(std::function<void()> job);
  void wait();

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> job_;  // of the thread, until it is done
  bool ends_ = false;
  std::thread thread_;  // the last member: it uses the others
};

}  // namespace kusari::updaters
