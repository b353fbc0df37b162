#include "kusari/iterators/thread_loader.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/datasets/collated.h"
#include "kusari/framework/datasets/example_random.h"

namespace kusari::iterators {
namespace {

using datasets::Example;

using Clock = std::chrono::steady_clock;

// A thread takes as many examples at a time as it prepares in this time: few when they are slow, so that all threads
// end a batch together.
constexpr std::chrono::nanoseconds kClaimTime{50'000};
constexpr int64_t kMaxClaim = 64;

// What threads may take to end once their examples are done or overdue.
constexpr std::chrono::seconds kTimeToEnd{1};

struct Range {
  int64_t begin = 0, end = 0;
};

template <class F>
std::exception_ptr thrown_by(const F& function) {
  try {
    function();
  } catch (...) {
    const std::exception_ptr thrown = std::current_exception();
    if (thrown == nullptr) throw;  // no exception of C++: the thread ends itself, which nobody may stop
    return thrown;
  }
  return nullptr;
}

// Longer than machines run, and what a clock can add.
constexpr double kForEver = 1e9;  // seconds

ThreadLoaderOptions with_finite_timeout(ThreadLoaderOptions options) {
  if (options.timeout.value_or(0) > kForEver) options.timeout.reset();
  return options;
}

// Threads that start meanwhile take no signals: those belong to the program's own threads.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &previous_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &previous_, nullptr); }

 private:
  sigset_t previous_;
};

std::string seconds_text(std::chrono::duration<double> time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g s", time.count());
  return text;
}

}  // namespace

/// A batch on its way.
struct ThreadLoader::Job {
  enum class State : uint8_t { missing, placed, kept };
  struct Failed {
    int64_t row;
    Failure failure;
  };

  int64_t rows() const noexcept { return static_cast<int64_t>(keys.size()); }
  /// Up to `count` rows that no thread has.
  Range claim(int64_t count) noexcept {
    if (next.load(std::memory_order_relaxed) >= rows()) return {};
    const int64_t begin = next.fetch_add(count, std::memory_order_relaxed);
    return {std::min(begin, rows()), std::min(begin + count, rows())};
  }
  std::vector<Range> missing_rows() const {
    std::vector<Range> missing;
    for (int64_t row = 0; row < rows(); ++row) {
      if (states[static_cast<size_t>(row)] != State::missing) continue;
      if (missing.empty() || missing.back().end != row) missing.push_back({row, row});
      ++missing.back().end;
    }
    return missing;
  }

  int64_t sequence = 0;
  std::vector<ExampleKey> keys;
  BatchLayout layout;
  Example planes;
  void* plane_data[BatchLayout::kMaxComponents];
  // Each row belongs to the thread that claimed it until `unfinished` no longer counts it.
  std::vector<State> states;
  Batch kept;  // the examples that do not lie in the planes
  std::atomic<int64_t> next{0};
  std::atomic<int64_t> unfinished{0};
  std::atomic<bool> is_cancelled{false};
  // Under Shared::mutex:
  std::vector<Range> returned;  // claimed once, and to be loaded again
  std::vector<Failed> failed;
  // A failure could not be noted: rows that are left count as finished, and stay missing.
  std::atomic<bool> lacks_memory{false};
  // The consumer's own:
  std::vector<Range> to_repeat;  // rows that failed when take() threw
  std::vector<int64_t> lost;     // a row for each time that it cost a thread
};

/// What a thread is doing. The consumer abandons a thread that is stuck by changing `phase` from the very word that it
/// has seen; a thread changes the word whenever it enters or leaves Dataset::get, and so learns that it was abandoned
/// before it touches the batch.
struct alignas(64) ThreadLoader::Progress {
  enum : uint64_t { kIdle, kPreparing, kAbandoned, kStates = 4 };

  std::atomic<uint64_t> phase{kIdle};             // one of the states, plus kStates for each example so far
  std::atomic<int64_t> sequence{0};               // of the job
  std::atomic<int64_t> begin{0}, row{0}, end{0};  // of the claim
  std::atomic<int64_t> index{0};                  // of the example in the data set
  std::atomic<Clock::rep> since{0};
  bool has_ended = false;  // under Shared::mutex
};

/// What the threads share with the loader; they keep it alive when they are left behind.
struct ThreadLoader::Shared {
  Shared(datasets::DatasetRef from, const ThreadLoaderOptions& with, const ConfigSnapshot& creators)
      : dataset{std::move(from)}, options{with}, config{creators} {}

  const datasets::DatasetRef dataset;
  const ThreadLoaderOptions options;
  const ConfigSnapshot config;

  std::mutex mutex;
  std::condition_variable work;   // for the threads
  std::condition_variable event;  // for the consumer: a batch is complete, a thread has ended
  std::deque<std::shared_ptr<Job>> jobs;
  std::atomic<bool> is_stopping{false};

  void finish_rows(Job& job, int64_t count) {
    if (count > 0 && job.unfinished.fetch_sub(count, std::memory_order_acq_rel) == count) {
      { const std::scoped_lock lock(mutex); }
      event.notify_one();
    }
  }
};

struct ThreadLoader::Worker {
  int64_t number;
  std::shared_ptr<Progress> progress;
  std::thread thread;
};

/// What a thread runs.
class ThreadLoader::Loop {
 public:
  Loop(std::shared_ptr<Shared> shared, std::shared_ptr<Progress> progress)
      : shared_{std::move(shared)}, progress_{std::move(progress)} {}

  void operator()() {
    // Last of all, and also when an example ends the thread: it then leaves `phase` at kPreparing.
    const struct End {
      Loop& loop;
      ~End() {
        const std::shared_ptr<Shared> shared = std::move(loop.shared_);
        loop.job_.reset();
        {
          const std::scoped_lock lock(shared->mutex);
          loop.progress_->has_ended = true;
        }
        shared->event.notify_one();
      }
    } end{*this};
    const SingleThreaded alone;
    while (find_work()) {
      const auto begun = Clock::now();
      if (!load_range()) return;
      const auto each = (Clock::now() - begun) / (range_.end - range_.begin);
      claim_ =
          std::clamp<int64_t>(kClaimTime / std::max<Clock::duration>(each, std::chrono::nanoseconds(1)), 1, kMaxClaim);
    }
  }

 private:
  bool find_work() {
    if (job_ && !shared_->is_stopping.load(std::memory_order_relaxed)) {
      range_ = job_->claim(claim_);
      if (range_.begin < range_.end) return true;
    }
    job_.reset();
    std::unique_lock lock(shared_->mutex);
    for (;;) {
      if (shared_->is_stopping.load(std::memory_order_relaxed)) return false;
      for (const std::shared_ptr<Job>& job : shared_->jobs) {
        if (!job->returned.empty()) {
          Range& rest = job->returned.back();
          range_ = {rest.begin, std::min(rest.begin + claim_, rest.end)};
          rest.begin = range_.end;
          if (rest.begin == rest.end) job->returned.pop_back();
        } else {
          range_ = job->claim(claim_);
        }
        if (range_.begin < range_.end) {
          job_ = job;
          return true;
        }
      }
      shared_->work.wait(lock);
    }
  }

  /// False when this thread was abandoned.
  bool load_range() {
    Progress& progress = *progress_;
    progress.sequence.store(job_->sequence, std::memory_order_relaxed);
    progress.begin.store(range_.begin, std::memory_order_relaxed);
    progress.end.store(range_.end, std::memory_order_relaxed);
    for (int64_t row = range_.begin; row < range_.end; ++row) {
      if (job_->is_cancelled.load(std::memory_order_relaxed)) return true;  // nobody counts its rows
      if (job_->lacks_memory.load(std::memory_order_relaxed)) break;
      if (!load_row(row)) return false;
    }
    shared_->finish_rows(*job_, range_.end - range_.begin);
    return true;
  }

  bool load_row(int64_t row) {
    const ExampleKey& key = job_->keys[static_cast<size_t>(row)];
    for (int64_t failures = 0;; ++failures) {
      Example example;
      begin_example(row);
      std::exception_ptr thrown = thrown_by([&] {
        if (!has_config_) shared_->config.install();  // here, where it may lack memory
        has_config_ = true;
        const datasets::ExampleRandomScope scope(key.seed, key.epoch, key.index);
        example = shared_->dataset->get(key.index);
      });
      if (!end_example()) return false;
      if (!thrown) thrown = thrown_by([&] { place(std::move(example), row); });
      if (!thrown) return true;
      if (shared_->options.on_failure == OnFailure::retry && failures < shared_->options.max_retries &&
          !job_->is_cancelled.load(std::memory_order_relaxed)) {
        continue;
      }
      note_failure(row, failure_of(thrown));
      return true;
    }
  }

  void note_failure(int64_t row, Failure failure) noexcept {
    const std::scoped_lock lock(shared_->mutex);
    try {
      job_->failed.push_back({row, std::move(failure)});
    } catch (const std::bad_alloc&) {
      job_->lacks_memory.store(true, std::memory_order_relaxed);
    }
  }

  void begin_example(int64_t row) {
    progress_->row.store(row, std::memory_order_relaxed);
    progress_->index.store(job_->keys[static_cast<size_t>(row)].index, std::memory_order_relaxed);
    if (shared_->options.timeout) {
      progress_->since.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
    }
    phase_ += Progress::kStates;
    progress_->phase.store(phase_ + Progress::kPreparing, std::memory_order_release);
  }

  /// False when this thread was abandoned meanwhile.
  bool end_example() {
    uint64_t seen = phase_ + Progress::kPreparing;
    return progress_->phase.compare_exchange_strong(seen, phase_ + Progress::kIdle, std::memory_order_acq_rel);
  }

  void place(Example example, int64_t row) {
    Job& job = *job_;
    const auto i = static_cast<size_t>(row);
    if (job.layout.fits(example)) {
      job.layout.write(example, job.plane_data, row);
      job.states[i] = Job::State::placed;
    } else {
      job.kept[i] = std::move(example);
      job.states[i] = Job::State::kept;
    }
  }

  std::shared_ptr<Shared> shared_;
  std::shared_ptr<Progress> progress_;
  std::shared_ptr<Job> job_;
  Range range_;
  int64_t claim_ = 1;
  bool has_config_ = false;
  uint64_t phase_ = Progress::kIdle;
};

ThreadLoader::ThreadLoader(datasets::DatasetRef dataset, const ThreadLoaderOptions& options)
    : options_{with_finite_timeout(options)},
      shared_{std::make_shared<Shared>(std::move(dataset), options_, ConfigSnapshot())} {}

ThreadLoader::~ThreadLoader() { finish(); }

/// As many as there are examples under way and `more`, up to the number that was asked for.
void ThreadLoader::start_workers(int64_t more) {
  if (shared_->is_stopping.load(std::memory_order_relaxed)) {  // threads that were left behind keep the old one
    shared_ = std::make_shared<Shared>(shared_->dataset, options_, shared_->config);
  }
  int64_t examples = more;
  for (const std::shared_ptr<Job>& job : shared_->jobs) {
    if (examples >= options_.n_threads) break;
    examples += job->rows();
  }
  const int64_t wanted = std::min(options_.n_threads, examples);
  const SignalsBlocked blocked;
  std::string failure;
  try {
    while (static_cast<int64_t>(workers_.size()) < wanted) {
      workers_.reserve(workers_.size() + 1);
      auto progress = std::make_shared<Progress>();
      std::thread thread(Loop(shared_, progress));
      workers_.push_back({++started_, std::move(progress), std::move(thread)});
    }
  } catch (const std::system_error& error) {
    failure = error.what();
  } catch (const std::bad_alloc&) {
    failure = "memory is exhausted";
  }
  if (failure.empty()) return;
  const std::string text = std::string(options_.iterator) + ": thread " + std::to_string(workers_.size() + 1) + " of " +
                           std::to_string(options_.n_threads) + " cannot be started: " + failure;
  if (workers_.empty()) throw WorkerError(text);
  log::warn(text + "; it goes on with " + std::to_string(workers_.size()));
  options_.n_threads = static_cast<int64_t>(workers_.size());
}

void ThreadLoader::submit(std::span<const ExampleKey> keys) {
  start_workers(std::ssize(keys));
  auto job = std::make_shared<Job>();
  job->sequence = ++submitted_;
  job->keys.assign(keys.begin(), keys.end());
  job->states.assign(keys.size(), Job::State::missing);
  job->kept.resize(keys.size());
  job->unfinished.store(job->rows(), std::memory_order_relaxed);
  if (layout_.is_defined() && layout_.batch_size() >= job->rows()) {
    job->layout = layout_;
    job->planes = layout_.allocate(device_);
    for (size_t k = 0; k < job->planes.size(); ++k) {
      datasets::mark_collated(job->planes[k]);
      job->plane_data[k] = job->planes[k].raw_data();
    }
  }
  {
    const std::scoped_lock lock(shared_->mutex);
    shared_->jobs.push_back(std::move(job));
  }
  shared_->work.notify_all();
}

bool ThreadLoader::is_ready() {
  return !shared_->jobs.empty() && shared_->jobs.front()->unfinished.load(std::memory_order_acquire) == 0 &&
         shared_->jobs.front()->to_repeat.empty();
}

Batch ThreadLoader::take() {
  if (workers_.empty()) start_workers(0);  // when a lost one could not be replaced
  Job& job = *shared_->jobs.front();
  if (!job.to_repeat.empty()) {
    {
      const std::scoped_lock lock(shared_->mutex);
      job.returned.insert(job.returned.end(), job.to_repeat.begin(), job.to_repeat.end());
      for (const Range& rows : job.to_repeat) {
        job.unfinished.fetch_add(rows.end - rows.begin, std::memory_order_relaxed);
      }
    }
    job.to_repeat.clear();
    shared_->work.notify_all();
  }
  wait_for(job);

  if (job.lacks_memory.load(std::memory_order_relaxed)) {
    job.failed = {};
    job.to_repeat = job.missing_rows();
    job.lacks_memory.store(false, std::memory_order_relaxed);
    throw std::bad_alloc();
  }
  std::sort(job.failed.begin(), job.failed.end(), [](const auto& a, const auto& b) { return a.row < b.row; });
  if (options_.on_failure == OnFailure::skip) {
    for (const Job::Failed& failed : job.failed) {
      const int64_t index = job.keys[static_cast<size_t>(failed.row)].index;
      log::warn(failure_text(options_.iterator, index, failed.failure) + "; it is left out");
    }
  } else if (!job.failed.empty()) {
    job.to_repeat.reserve(job.failed.size());
    for (const Job::Failed& failed : job.failed) job.to_repeat.push_back({failed.row, failed.row + 1});
    const Job::Failed first = std::move(job.failed.front());
    job.failed.clear();
    throw_failure(options_.iterator, job.keys[static_cast<size_t>(first.row)].index, first.failure);
  }
  Batch batch = collect(job);
  const std::scoped_lock lock(shared_->mutex);
  shared_->jobs.pop_front();
  return batch;
}

Batch ThreadLoader::collect(Job& job) {
  const auto is_placed = [](Job::State state) { return state == Job::State::placed; };
  if (!job.states.empty() && std::all_of(job.states.begin(), job.states.end(), is_placed)) {
    return BatchLayout::rows(job.planes, job.rows());
  }
  // In their places as long as memory may be short: another call then goes on.
  for (size_t i = 0; i < job.states.size(); ++i) {
    if (job.states[i] != Job::State::placed) continue;
    Example example;
    for (const Array& plane : job.planes) example.push_back(plane.at(static_cast<int64_t>(i)));
    job.kept[i] = std::move(example);
    job.states[i] = Job::State::kept;
  }
  Batch batch = std::move(job.kept);
  size_t count = 0;
  for (size_t i = 0; i < job.states.size(); ++i) {
    if (job.states[i] == Job::State::missing) continue;
    if (i != count) batch[count] = std::move(batch[i]);
    ++count;
  }
  batch.resize(count);
  choose_layout(batch, job.rows());
  return batch;
}

/// For the batches to come, which look like this one: planes are only worth their memory where most examples fit.
void ThreadLoader::choose_layout(const Batch& batch, int64_t rows) {
  const auto fits_most = [&](const BatchLayout& layout) {
    const auto fitting = std::count_if(batch.begin(), batch.end(), [&](const Example& it) { return layout.fits(it); });
    return 2 * fitting >= std::ssize(batch);
  };
  if (batch.empty() || fits_most(layout_)) return;
  layout_ = BatchLayout::of(batch.front(), std::max(layout_.batch_size(), rows));
  if (!fits_most(layout_)) layout_ = BatchLayout();
}

void ThreadLoader::wait_for(Job& job) {
  std::unique_lock lock(shared_->mutex);
  const auto is_complete = [&] { return job.unfinished.load(std::memory_order_acquire) == 0; };
  while (!is_complete()) {
    if (replace_ended(job)) continue;
    if (!options_.timeout) {
      shared_->event.wait(lock);
    } else {
      shared_->event.wait_for(lock, std::chrono::duration<double>(check_workers(job)));
    }
  }
}

/// Handles a thread that ended itself, which examples can do by pthread_exit. False when there is none.
bool ThreadLoader::replace_ended(Job& due) {
  const auto ended =
      std::find_if(workers_.begin(), workers_.end(), [](const Worker& worker) { return worker.progress->has_ended; });
  if (ended == workers_.end()) return false;
  ended->thread.join();
  const Failure failure{FailureKind::worker_error, "worker thread " + std::to_string(ended->number) +
                                                       " was ended while it prepared it (pthread_exit)"};
  replace(static_cast<size_t>(ended - workers_.begin()), failure, due);
  return true;
}

/// Handles threads that are stuck. Returns the seconds until the next one may be.
double ThreadLoader::check_workers(Job& due) {
  const auto is_preparing = [](uint64_t phase) { return phase % Progress::kStates == Progress::kPreparing; };
  const auto now = Clock::now();
  const auto limit = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*options_.timeout));
  // Who prepares examples of later batches has time, unless nobody is at this one.
  const bool is_under_way = std::any_of(workers_.begin(), workers_.end(), [&](const Worker& worker) {
    return is_preparing(worker.progress->phase.load(std::memory_order_acquire)) &&
           worker.progress->sequence.load(std::memory_order_relaxed) == due.sequence;
  });
  auto next = now + limit;
  for (size_t i = 0; i < workers_.size(); ++i) {
    Worker& worker = workers_[i];
    Progress& progress = *worker.progress;
    uint64_t phase = progress.phase.load(std::memory_order_acquire);
    if (!is_preparing(phase)) continue;
    if (is_under_way && progress.sequence.load(std::memory_order_relaxed) != due.sequence) continue;
    const Clock::time_point since{Clock::duration(progress.since.load(std::memory_order_relaxed))};
    const auto deadline = since + limit;
    if (deadline > now) {
      next = std::min(next, deadline);
      continue;
    }
    const Failure failure{FailureKind::worker_error, "worker thread " + std::to_string(worker.number) +
                                                         " has been preparing it for " + seconds_text(now - since) +
                                                         ": dataset_timeout is " + seconds_text(limit)};
    if (progress.phase.compare_exchange_strong(phase, phase - Progress::kPreparing + Progress::kAbandoned,
                                               std::memory_order_acq_rel)) {
      worker.thread.detach();
      replace(i, failure, due);
    }
    return 0;  // the workers are others now
  }
  return std::chrono::duration<double>(next - now).count();
}

/// Starts a thread in place of one that is lost, and gives others what that one had claimed. Throws the failure when
/// its example belongs to the batch that is due and is not to be tried again at once.
void ThreadLoader::replace(size_t worker, const Failure& failure, Job& due) {
  const std::shared_ptr<Progress> progress = workers_[worker].progress;
  workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(worker));
  const int64_t sequence = progress->sequence.load(std::memory_order_relaxed);
  const int64_t row = progress->row.load(std::memory_order_relaxed);
  const auto found = std::find_if(shared_->jobs.begin(), shared_->jobs.end(),
                                  [&](const std::shared_ptr<Job>& job) { return job->sequence == sequence; });
  bool throws = false;
  if (found != shared_->jobs.end()) {
    Job& job = **found;
    int64_t finished = row - progress->begin.load(std::memory_order_relaxed);
    if (const int64_t end = progress->end.load(std::memory_order_relaxed); row + 1 < end) {
      job.returned.push_back({row + 1, end});
    }
    const auto before = std::count(job.lost.begin(), job.lost.end(), row);
    job.lost.push_back(row);
    if (options_.on_failure == OnFailure::retry && before < options_.max_retries) {
      job.returned.push_back({row, row + 1});
    } else {
      throws = options_.on_failure == OnFailure::raise && &job == &due;
      if (throws) {
        job.to_repeat.push_back({row, row + 1});
      } else {
        job.failed.push_back({row, failure});
      }
      ++finished;
    }
    job.unfinished.fetch_sub(finished, std::memory_order_acq_rel);
  }
  start_workers(0);
  shared_->work.notify_all();
  if (throws) throw_failure(options_.iterator, due.keys[static_cast<size_t>(row)].index, failure);
}

void ThreadLoader::cancel() noexcept {
  const std::scoped_lock lock(shared_->mutex);
  for (const std::shared_ptr<Job>& job : shared_->jobs) job->is_cancelled.store(true, std::memory_order_relaxed);
  shared_->jobs.clear();
}

void ThreadLoader::finish() noexcept {
  cancel();
  std::unique_lock lock(shared_->mutex);
  shared_->is_stopping.store(true, std::memory_order_relaxed);
  shared_->work.notify_all();
  const auto soon = Clock::now() + kTimeToEnd;
  for (Worker& worker : workers_) {
    const Progress& progress = *worker.progress;
    while (!progress.has_ended) {
      if (!options_.timeout) {
        shared_->event.wait(lock);
        continue;
      }
      const auto limit = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*options_.timeout));
      // A thread ends after the example that it has begun, perhaps while we look.
      const Clock::time_point since{Clock::duration(progress.since.load(std::memory_order_relaxed))};
      const auto deadline = std::max(since + limit, soon);
      if (deadline <= Clock::now()) break;
      shared_->event.wait_until(lock, deadline);
    }
    if (progress.has_ended) {
      worker.thread.join();
      continue;
    }
    worker.thread.detach();
    log::warn(std::string(options_.iterator) + ": worker thread " + std::to_string(worker.number) +
              " is stuck with example " + std::to_string(progress.index.load(std::memory_order_relaxed)) +
              " and is left behind");
  }
  workers_.clear();
}

}  // namespace kusari::iterators
