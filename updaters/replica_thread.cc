#include "kusari/updaters/replica_thread.h"

#include <signal.h>

#include <exception>
#include <utility>

#include "kusari/framework/core/error.h"

namespace kusari::updaters {

ReplicaThread::ReplicaThread() {
  // Signals belong to the program's own threads.
  sigset_t all, previous;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &previous);
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::exception& error) {  // system_error or bad_alloc
    pthread_sigmask(SIG_SETMASK, &previous, nullptr);
    throw WorkerError(std::string("ParallelUpdater: a thread for a replica cannot be started: ") + error.what());
  }
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);
}

ReplicaThread::~ReplicaThread() {
  {
    const std::scoped_lock lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ReplicaThread::begin(Callable<void()> job) {
  {
    const std::scoped_lock lock(mutex_);
    job_ = std::move(job);
  }
  changed_.notify_all();
}

void ReplicaThread::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !job_; });
}

void ReplicaThread::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return job_ || ends_; });
    if (!job_) return;
    lock.unlock();
    job_();
    lock.lock();
    job_ = nullptr;
    changed_.notify_all();
  }
}

}  // namespace kusari::updaters
