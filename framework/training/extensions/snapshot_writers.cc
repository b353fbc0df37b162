#include "kusari/framework/training/extensions/snapshot_writers.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "kusari/framework/core/log.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/serializers/entry_checksums.h"
#include "kusari/framework/training/extensions/writer_process.h"

namespace kusari::training::extensions::snapshot_writers {
namespace {

using serializers::copied;
using serializers::NpzDictionary;
using serializers::SaveNpzOptions;

/// The entries on the CPU, those that are there already shared: a forked process gets the memory as it is.
NpzDictionary on_host(NpzDictionary target) {
  for (auto& [key, entry] : target) {
    if (entry.array.is_defined()) entry.array = entry.array.to_device(Device());
  }
  return target;
}

/// Starts `run` in a thread; false, with a warning, where the system gives none.
template <class Run>
bool start_thread(const char* writer, std::thread& thread, Run run) {
  try {
    thread = std::thread(std::move(run));
    return true;
  } catch (const std::exception& error) {  // system_error or bad_alloc
    log::warn(std::string(writer) +
              ": no thread can be started, so that training waits for the snapshot: " + error.what());
    return false;
  }
}

/// For destructors, after which nobody can be told.
template <class Finalize>
void finalize_silently(const Finalize& finalize) noexcept {
  try {
    finalize();
  } catch (const std::exception& error) {
    log::error(std::string("snapshot writer: ") + error.what());
  }
}

}  // namespace

Writer::Writer(const SaveNpzOptions& options)
    : save_{[options](const std::string& path, const NpzDictionary& target) {
        serializers::save_npz_dictionary(path, target, options);
      }},
      is_npz_{true} {}

Writer::~Writer() = default;

void Writer::add_cleanup_hook(Callable<void()> hook) {
  hooks_.push_back([hook = std::move(hook)](const std::string&) { hook(); });
}

void Writer::add_cleanup_hook(Callable<void(const std::string& path)> hook) { hooks_.push_back(std::move(hook)); }

void Writer::finalize() {}

Callable<void()> Writer::save_task(const std::string& path, NpzDictionary target) const {
  return [save = save_, hooks = hooks_, path, target = std::move(target), seal = has_checksums_] {
    save(path, seal ? serializers::with_checksums(target) : target);
    for (const auto& hook : hooks) hook(path);
  };
}

void SimpleWriter::operator()(const std::string& path, NpzDictionary target) { save_task(path, std::move(target))(); }

struct ThreadWriter::State {
  std::thread thread;
  std::exception_ptr error;  // the thread's, to be read after it was joined
};

ThreadWriter::ThreadWriter(const SaveNpzOptions& options) : Writer{options}, state_{std::make_unique<State>()} {}
ThreadWriter::ThreadWriter(SaveFunction save) : Writer{std::move(save)}, state_{std::make_unique<State>()} {}
ThreadWriter::ThreadWriter(ThreadWriter&&) noexcept = default;
ThreadWriter::~ThreadWriter() {
  if (state_ != nullptr) finalize_silently([this] { finalize(); });
}

void ThreadWriter::operator()(const std::string& path, NpzDictionary target) {
  finalize();
  const Callable<void()> task = save_task(path, copied(std::move(target)));
  const bool is_started = start_thread("ThreadWriter", state_->thread, [state = state_.get(), task] {
    const SingleThreaded alone;  // the other threads have training to do
    try {
      task();
    } catch (...) {
      state->error = std::current_exception();
    }
  });
  if (!is_started) task();
}

void ThreadWriter::finalize() {
  if (state_->thread.joinable()) state_->thread.join();
  if (state_->error) std::rethrow_exception(std::exchange(state_->error, nullptr));
}

struct ThreadQueueWriter::State {
  void run() {
    const SingleThreaded alone;
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return closing || !tasks.empty(); });
      if (tasks.empty()) return;
      const Callable<void()> task = std::move(tasks.front());
      tasks.pop_front();
      lock.unlock();
      std::exception_ptr failure;
      try {
        task();
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      if (failure && !error) error = failure;
    }
  }
  void throw_error() {
    const std::scoped_lock lock(mutex);
    if (error) std::rethrow_exception(std::exchange(error, nullptr));
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Callable<void()>> tasks;
  std::exception_ptr error;  // the first that was not thrown yet
  bool closing = false;
  std::thread thread;
};

ThreadQueueWriter::ThreadQueueWriter(const SaveNpzOptions& options)
    : Writer{options}, state_{std::make_unique<State>()} {}
ThreadQueueWriter::ThreadQueueWriter(SaveFunction save) : Writer{std::move(save)}, state_{std::make_unique<State>()} {}
ThreadQueueWriter::ThreadQueueWriter(ThreadQueueWriter&&) noexcept = default;
ThreadQueueWriter::~ThreadQueueWriter() {
  if (state_ != nullptr) finalize_silently([this] { finalize(); });
}

void ThreadQueueWriter::operator()(const std::string& path, NpzDictionary target) {
  State& s = *state_;
  s.throw_error();
  Callable<void()> task = save_task(path, copied(std::move(target)));
  if (!s.thread.joinable() && !start_thread("ThreadQueueWriter", s.thread, [&s] { s.run(); })) return task();
  {
    const std::scoped_lock lock(s.mutex);
    s.tasks.push_back(std::move(task));
  }
  s.changed.notify_one();
}

void ThreadQueueWriter::finalize() {
  State& s = *state_;
  if (s.thread.joinable()) {
    {
      const std::scoped_lock lock(s.mutex);
      s.closing = true;
    }
    s.changed.notify_one();
    s.thread.join();
    s.closing = false;
  }
  s.throw_error();
}

struct ProcessWriter::State {
  std::unique_ptr<WriterProcess> process;
};

ProcessWriter::ProcessWriter(const SaveNpzOptions& options) : Writer{options}, state_{std::make_unique<State>()} {}
ProcessWriter::ProcessWriter(SaveFunction save) : Writer{std::move(save)}, state_{std::make_unique<State>()} {}
ProcessWriter::ProcessWriter(ProcessWriter&&) noexcept = default;
ProcessWriter::~ProcessWriter() {
  if (state_ != nullptr) finalize_silently([this] { finalize(); });
}

void ProcessWriter::operator()(const std::string& path, NpzDictionary target) {
  finalize();
  state_->process = std::make_unique<WriterProcess>(save_task(path, on_host(std::move(target))));
}

void ProcessWriter::finalize() {
  if (const auto process = std::move(state_->process)) process->wait();
}

struct ProcessQueueWriter::State {
  std::deque<std::unique_ptr<WriterProcess>> processes;  // the oldest first
};

ProcessQueueWriter::ProcessQueueWriter(const SaveNpzOptions& options)
    : Writer{options}, state_{std::make_unique<State>()} {}
ProcessQueueWriter::ProcessQueueWriter(SaveFunction save)
    : Writer{std::move(save)}, state_{std::make_unique<State>()} {}
ProcessQueueWriter::ProcessQueueWriter(ProcessQueueWriter&&) noexcept = default;
ProcessQueueWriter::~ProcessQueueWriter() {
  if (state_ != nullptr) finalize_silently([this] { finalize(); });
}

void ProcessQueueWriter::operator()(const std::string& path, NpzDictionary target) {
  auto& processes = state_->processes;
  while (!processes.empty() && processes.front()->has_ended()) {
    const auto ended = std::move(processes.front());
    processes.pop_front();
    ended->wait();
  }
  const WriterProcess* const before = processes.empty() ? nullptr : processes.back().get();
  processes.push_back(std::make_unique<WriterProcess>(save_task(path, on_host(std::move(target))), before));
}

void ProcessQueueWriter::finalize() {
  auto& processes = state_->processes;
  std::exception_ptr error;
  while (!processes.empty()) {
    const auto oldest = std::move(processes.front());
    processes.pop_front();
    try {
      oldest->wait();
    } catch (...) {
      if (!error) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace kusari::training::extensions::snapshot_writers
