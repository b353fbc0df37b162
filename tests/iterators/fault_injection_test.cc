// Everything that can happen to worker processes, at random instants: the promised error or recovery comes, nothing
// hangs, nothing is left behind. KUSARI_FAULT_RUNS sets how many runs there are.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/input_file.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/datasets/example_random.h"
#include "kusari/iterators/multiprocess_iterator.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/tests/iterators/processes.h"
#include "kusari/tests/iterators/seconds_since.h"
#include "kusari/tests/quiet_log.h"

using namespace kusari::testing;
using kusari::Array;
using kusari::Dtype;
using kusari::datasets::Dataset;
using kusari::datasets::Example;
using kusari::datasets::ExampleRandom;
using kusari::iterators::Batch;
using kusari::iterators::MultiprocessIterator;
using kusari::iterators::OnFailure;

namespace {

using Clock = std::chrono::steady_clock;
using Indices = std::vector<int64_t>;

// A machine that is busy may let a worker wait for long, so the timeout is short only where it must pass.
constexpr double kStuckTimeout = 0.5;  // of an example that is stuck
constexpr double kPatience = 60;       // of others
constexpr double kLimit = 20;          // of every call: beyond what anything that does not hang needs

enum class Fault {
  none,
  // in Dataset::get
  exception,
  unreadable_file,
  out_of_memory,
  killed_itself,
  crashed,
  called_exit,
  stuck,
  stopped_itself,
  // from outside, at any instant
  worker_killed,
  worker_stopped,
  mother_killed,
  mother_stopped,
  count
};
bool is_inside(Fault fault) { return fault >= Fault::exception && fault <= Fault::stopped_itself; }
bool is_outside(Fault fault) { return fault >= Fault::worker_killed; }
bool needs_timeout(Fault fault) {
  return fault == Fault::stuck || fault == Fault::stopped_itself || fault == Fault::worker_stopped;
}
std::string name_of(Fault fault) {
  constexpr const char* kNames[] = {
      "none",  "exception",      "unreadable_file", "out_of_memory",  "killed_itself", "crashed",       "called_exit",
      "stuck", "stopped_itself", "worker_killed",   "worker_stopped", "mother_killed", "mother_stopped"};
  return kNames[static_cast<size_t>(fault)];
}

/// Example i is (i, pixels that follow from i); the fault happens once, at one example.
class Faulty final : public Dataset {
 public:
  Faulty(int64_t size, Fault fault, int64_t where) : size_{size}, fault_{fault}, where_{where} {}
  int64_t size() const override { return size_; }
  Example get(int64_t i) const override {
    if (i == where_ && left_->fetch_sub(1) > 0) fail();
    const Array pixels = kusari::full({3, 32, 32}, static_cast<uint8_t>(i), Dtype::uint8);
    return {kusari::array<int64_t>({i}).reshape({}), pixels};
  }

 private:
  void fail() const {
    switch (fault_) {
      case Fault::exception:
        throw kusari::ValueError("this one is bad");
      case Fault::unreadable_file:
        kusari::InputFile("Faulty", "/nowhere/image.png");
        break;
      case Fault::out_of_memory:
        throw std::bad_alloc();
      case Fault::killed_itself:
        raise(SIGKILL);
        break;
      case Fault::crashed:
        raise(SIGSEGV);
        break;
      case Fault::called_exit:
        std::exit(3);
      case Fault::stuck:
        for (;;) pause();
      case Fault::stopped_itself:
        raise(SIGSTOP);
        break;
      default:
        break;
    }
  }

  int64_t size_;
  Fault fault_;
  int64_t where_;
  std::shared_ptr<std::atomic<int>> left_ = shared_value<std::atomic<int>>(1);
};

struct Run {
  Fault fault;
  OnFailure on_failure;
  int64_t size, batch_size, workers, n_prefetch, steps;
  int64_t where;  // the example at which a fault inside happens
  int64_t when;   // the step before which a fault outside happens
  std::optional<int64_t> maxtasksperchild;
  bool is_abandoned;  // the iterator ends while batches are on the way

  static Run random(Fault fault, ExampleRandom& choose) {
    Run run{};
    run.fault = fault;
    run.on_failure = static_cast<OnFailure>(choose.integer(3));
    run.size = 20 + choose.integer(100);
    run.batch_size = 1 + choose.integer(32);
    run.workers = 1 + choose.integer(4);
    run.n_prefetch = choose.integer(4);
    run.steps = 2 + choose.integer(12);
    // The one example at which a fault happens must not be on the way twice.
    if (is_inside(fault)) run.size += (run.steps + run.n_prefetch + 1) * run.batch_size;
    run.where = choose.integer(std::min(run.size, run.steps * run.batch_size));
    run.when = choose.integer(run.steps);
    if (choose.chance(0.2)) run.maxtasksperchild = 1 + choose.integer(20);
    run.is_abandoned = choose.chance(0.3);
    return run;
  }
};

void strike(Fault fault, const Crew& crew, ExampleRandom& choose) {
  std::this_thread::sleep_for(std::chrono::microseconds(choose.integer(1500)));
  const pid_t worker = crew.workers[static_cast<size_t>(choose.integer(std::ssize(crew.workers)))];
  if (fault == Fault::worker_killed) kill(worker, SIGKILL);
  if (fault == Fault::worker_stopped) kill(worker, SIGSTOP);
  if (fault == Fault::mother_killed) kill(crew.mother, SIGKILL);
  if (fault == Fault::mother_stopped) kill(crew.mother, SIGSTOP);
}

// What the error must say; empty when there must be none.
std::string promised_text(const Run& run) {
  if (run.on_failure != OnFailure::raise) return {};
  const std::string example = "example " + std::to_string(run.where) + ": ";
  switch (run.fault) {
    case Fault::exception:
      return "MultiprocessIterator: " + example + "this one is bad";
    case Fault::unreadable_file:
      return example + "Faulty: ";
    case Fault::out_of_memory:
      return example + "memory is exhausted";
    case Fault::killed_itself:
      return "was killed by signal 9";
    case Fault::crashed:
      return "was killed by signal 11";
    case Fault::called_exit:
      return "ended by itself with exit status 3";
    case Fault::stuck:
    case Fault::stopped_itself:
      return example + "worker ";
    case Fault::worker_killed:
      return "was killed by signal 9";
    case Fault::worker_stopped:
      return "took longer than dataset_timeout, 0.5 s, and was killed";
    case Fault::mother_killed:
      return "the process that starts the workers";
    default:
      return {};
  }
}

bool is_promised_class(Fault fault, const kusari::Error& error) {
  switch (fault) {
    case Fault::exception:
      return dynamic_cast<const kusari::ValueError*>(&error) != nullptr;
    case Fault::unreadable_file:
      return dynamic_cast<const kusari::IoError*>(&error) != nullptr;
    case Fault::out_of_memory:
      return dynamic_cast<const kusari::OutOfMemoryError*>(&error) != nullptr;
    default:
      return dynamic_cast<const kusari::WorkerError*>(&error) != nullptr;
  }
}

// Takes run.steps batches, in spite of errors that are promised; says what else happened.
std::string use(const Run& run, MultiprocessIterator& iterator, ExampleRandom& choose) {
  const bool is_struck = is_outside(run.fault) && !run.maxtasksperchild;  // workers that retire come and go
  const Crew crew = is_struck ? Crew::of(getpid(), static_cast<size_t>(run.workers)) : Crew();
  Indices got;
  int64_t errors = 0;
  for (int64_t step = 0; step < run.steps;) {
    if (step == run.when && is_struck && errors == 0) strike(run.fault, crew, choose);
    const auto begin = Clock::now();
    try {
      for (const Example& example : iterator.next()) {
        const auto i = example[0].item<int64_t>();
        if (example[1].at(0).at(0).at(0).item<int64_t>() != i % 256) return "wrong pixels";
        got.push_back(i);
      }
      ++step;
    } catch (const kusari::Error& error) {
      const std::string text = error.what(), promised = promised_text(run);
      if (promised.empty() || text.find(promised) == std::string::npos) return "an error: " + text;
      if (!is_promised_class(run.fault, error)) return "an error of another class: " + text;
      if (++errors > 1) return "a second error: " + text;
    }
    if (seconds_since(begin) > kLimit) return "next() took " + std::to_string(seconds_since(begin)) + " s";
    if (run.is_abandoned && step > run.when) return {};
  }
  if (is_inside(run.fault) && run.on_failure == OnFailure::raise && errors != 1) return "no error";
  // A batch of which nothing is left is no step.
  const bool may_lose_batch = run.on_failure == OnFailure::skip && run.batch_size == 1;
  Indices expected(static_cast<size_t>(run.steps * run.batch_size + may_lose_batch));
  for (size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<int64_t>(i) % run.size;
  if (run.on_failure == OnFailure::skip) {
    const auto left_out = std::ranges::mismatch(got, expected).in2;
    if (is_inside(run.fault) && (left_out == expected.end() || *left_out != run.where)) return "nothing left out";
    if (left_out != expected.end()) expected.erase(left_out);
  }
  return got == expected ? std::string() : "another sequence";
}

std::string report_of(const Run& run, ExampleRandom& choose) {
  const Belongings before = Belongings::now();
  std::optional<MultiprocessIterator> iterator;
  iterator.emplace(Faulty(run.size, run.fault, run.where), run.batch_size,
                   kusari::iterators::MultiprocessIteratorOptions{
                       .shuffle = false,
                       .n_processes = run.workers,
                       .n_prefetch = run.n_prefetch,
                       .dataset_timeout = needs_timeout(run.fault) ? kStuckTimeout : kPatience,
                       .maxtasksperchild = run.maxtasksperchild,
                       .on_failure = run.on_failure});
  std::string problem = use(run, *iterator, choose);
  const auto begin = Clock::now();
  iterator.reset();
  const double seconds = seconds_since(begin);
  if (problem.empty() && seconds > kLimit) problem = "the destructor took " + std::to_string(seconds) + " s";
  const Belongings after = Belongings::now();
  if (problem.empty() && !(after == before)) problem = "there were " + before.text() + " and are " + after.text();
  return problem;
}

// Orphans of the test become its children, so that whoever is left behind is found.
class Adopting {
 public:
  Adopting() { prctl(PR_SET_CHILD_SUBREAPER, 1); }
  ~Adopting() { prctl(PR_SET_CHILD_SUBREAPER, 0); }
};

MultiprocessIterator make_simple(int64_t workers = 2) {
  return MultiprocessIterator(Faulty(50, Fault::none, -1), 8, {.shuffle = false, .n_processes = workers});
}

bool reap(pid_t process) {
  waitpid(process, nullptr, WNOHANG);
  return process_state(process).state == ' ';
}

// Whether all processes that a child named in `told` are gone soon.
bool are_soon_gone(const std::string& told) {
  std::istringstream text(told);
  std::vector<pid_t> processes;
  for (pid_t process; text >> process;) processes.push_back(process);
  REQUIRE(processes.size() == 3);
  return comes_true([&] { return std::ranges::all_of(processes, reap); }, kLimit);
}

void tell_crew(const std::function<void(const std::string&)>& tell) {
  const Crew crew = Crew::of(getpid(), 2);
  std::string text = std::to_string(crew.mother);
  for (const pid_t worker : crew.workers) text += " " + std::to_string(worker);
  tell(text);
}

}  // namespace

TEST_CASE("MultiprocessIterator keeps its promises whatever happens to workers") {
  const Adopting adopting;
  const QuietLog quiet("off");
  const char* const wanted = std::getenv("KUSARI_FAULT_RUNS");
  const int64_t runs = wanted != nullptr ? std::atoll(wanted) : 78;
  for (int64_t number = 0; number < runs; ++number) {
    ExampleRandom choose(0xfa117, 0, number);
    const Run run = Run::random(static_cast<Fault>(number % static_cast<int64_t>(Fault::count)), choose);
    const std::string problem = report_of(run, choose);
    if (problem.empty()) continue;
    FAIL_CHECK("run " << number << ", " << name_of(run.fault) << ": " << problem << " (" << run.size
                      << " examples, batches of " << run.batch_size << ", " << run.workers << " workers, "
                      << run.n_prefetch << " batches ahead, " << run.steps << " steps, at " << run.where
                      << ", before step " << run.when << ", on_failure " << static_cast<int>(run.on_failure)
                      << ", maxtasksperchild " << run.maxtasksperchild.value_or(0) << ", abandoned " << run.is_abandoned
                      << ")");
  }
}

TEST_CASE("no process is left when the consumer is killed") {
  const Adopting adopting;
  for (const int number : {SIGKILL, SIGTERM, SIGINT}) {  // the last as Ctrl-C: to the whole group
    CAPTURE(number);
    Child child([](const auto& tell) {
      MultiprocessIterator iterator = make_simple();
      tell_crew(tell);
      for (;;) iterator.next();
    });
    const std::string crew = child.hear();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    kill(number == SIGINT ? -child.process() : child.process(), number);
    CHECK(WTERMSIG(child.wait()) == number);
    CHECK(are_soon_gone(crew));
  }
}

TEST_CASE("no process is left when the consumer is killed while its socket is held by another process") {
  const Adopting adopting;
  Child child([](const auto& tell) {
    MultiprocessIterator iterator = make_simple();
    tell_crew(tell);
    if (fork() == 0) {
      alarm(60);
      for (;;) pause();
    }
    for (;;) iterator.next();
  });
  const std::string crew = child.hear();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  kill(child.process(), SIGKILL);
  child.wait();
  CHECK(are_soon_gone(crew));
  for (const pid_t other : children_of(getpid())) kill(other, SIGKILL), waitpid(other, nullptr, 0);
}

TEST_CASE("no process is left when the consumer ends with an iterator that is alive") {
  const Adopting adopting;
  Child child([](const auto& tell) {
    auto* const iterator = new MultiprocessIterator(make_simple());
    iterator->next();
    tell_crew(tell);
  });
  const std::string crew = child.hear();
  CHECK(child.wait() == 0);
  CHECK(are_soon_gone(crew));
}

TEST_CASE("an exception of the consumer ends the workers") {
  const Belongings before = Belongings::now();
  CHECK_THROWS_AS(
      [] {
        MultiprocessIterator iterator = make_simple();
        iterator.next();
        throw std::runtime_error("the model diverged");
      }(),
      std::runtime_error);
  CHECK(Belongings::now().text() == before.text());
}

TEST_CASE("a stopped mother and stopped workers do not hold up the end") {
  const Adopting adopting;
  const Belongings before = Belongings::now();
  {
    MultiprocessIterator iterator = make_simple();
    iterator.next();
    const Crew crew = Crew::of(getpid(), 2);
    kill(crew.mother, SIGSTOP);
    for (const pid_t worker : crew.workers) kill(worker, SIGSTOP);
    const auto begin = Clock::now();
    iterator.finalize();
    CHECK(seconds_since(begin) < kLimit);
  }
  CHECK(Belongings::now().text() == before.text());
}

TEST_CASE("a mother and workers that all stop are replaced") {
  const Adopting adopting;
  const QuietLog quiet("off");
  const Belongings before = Belongings::now();
  {
    MultiprocessIterator iterator(
        Faulty(50, Fault::none, -1), 8,
        {.shuffle = false, .n_processes = 2, .dataset_timeout = kStuckTimeout, .on_failure = OnFailure::retry});
    iterator.next();
    const Crew crew = Crew::of(getpid(), 2);
    kill(crew.mother, SIGSTOP);
    for (const pid_t worker : crew.workers) kill(worker, SIGSTOP);
    for (int64_t i = 8; i < 80; i += 8) CHECK(iterator.next()[0][0].item<int64_t>() == i % 50);
  }
  CHECK(Belongings::now().text() == before.text());
}

TEST_CASE("what the consumer had not written is written once") {
  const int file = memfd_create("output", 0);
  {
    Child child([&](const auto&) {
      dup2(file, STDOUT_FILENO);
      std::printf("once");
      std::atexit([] {
        std::printf("handler");
        std::fflush(stdout);
      });
      struct Printing final : Dataset {
        int64_t size() const override { return 4; }
        Example get(int64_t i) const override {
          std::printf("worker");
          std::fflush(stdout);
          if (i == 2) std::exit(0);
          return {kusari::array<int64_t>({i})};
        }
      };
      MultiprocessIterator iterator(Printing(), 4, {.n_processes = 1});
      try {
        iterator.next();
      } catch (const kusari::WorkerError&) {
      }
      iterator.finalize();
      std::fflush(stdout);
    });
    CHECK(child.wait() == 0);
  }
  std::string text(10000, ' ');
  text.resize(static_cast<size_t>(pread(file, text.data(), text.size(), 0)));
  close(file);
  CHECK(text.find("worker") != std::string::npos);
  CHECK(text.find("handler") == std::string::npos);  // exit() in a worker is not the consumer's
  REQUIRE(text.find("once") != std::string::npos);
#if !defined(__SANITIZE_THREAD__)  // ThreadSanitizer's _exit() writes what stdout holds
  CHECK(text.find("once") == text.rfind("once"));
#endif
}

TEST_CASE("workers come from a process with busy threads") {
  const Belongings before = Belongings::now();
  std::atomic<bool> is_over{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      while (!is_over) {
        kusari::zeros({100, 100}).copy().fill(1);
        kusari::log::debug("busy");
        std::vector<std::string>(20, std::string(100, 'x'));
      }
    });
  }
  std::vector<int64_t> sums(4);
#pragma omp parallel for
  for (int i = 0; i < 4; ++i) sums[static_cast<size_t>(i)] = i;
  kusari::parallel_for(1000, 10, [](int64_t, int64_t) {});

  struct Computing final : Dataset {
    int64_t size() const override { return 20; }
    Example get(int64_t i) const override {
      std::vector<int64_t> parts(4);
#pragma omp parallel for
      for (int k = 0; k < 4; ++k) parts[static_cast<size_t>(k)] = i;
      std::atomic<int64_t> sum{parts[3]};
      kusari::parallel_for(1000, 10, [&](int64_t begin, int64_t end) { sum += end - begin; });
      kusari::log::debug("computing");
      return {kusari::full({50, 50}, sum.load(), Dtype::int64)};
    }
  };
  for (int repeat = 0; repeat < 10; ++repeat) {
    std::unique_ptr<MultiprocessIterator> iterator;
    const auto make = [&] {
      iterator =
          std::make_unique<MultiprocessIterator>(Computing(), 5,
                                                 kusari::iterators::MultiprocessIteratorOptions{
                                                     .shuffle = false, .n_processes = 2, .dataset_timeout = kPatience});
    };
    if (repeat % 2 == 0) {
      make();  // this thread has used OpenMP
    } else {
      std::thread(make).join();  // the thread that makes an iterator may be gone when it is used
    }
    for (int64_t i = 0; i < 40; i += 5) CHECK(iterator->next()[0][0].at(0).at(0).item<int64_t>() == 1000 + i % 20);
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(Belongings::now().children == before.children);
  CHECK(Belongings::now().shared_mappings == before.shared_mappings);
}

TEST_CASE("many workers end at once, and all are replaced") {
  const Adopting adopting;
  const QuietLog quiet("off");
  const Belongings before = Belongings::now();
  {
    constexpr int64_t kMany = 40;
    MultiprocessIterator iterator(
        Faulty(400, Fault::none, -1), 80,
        {.shuffle = false, .n_processes = kMany, .n_prefetch = 1, .on_failure = OnFailure::retry, .max_retries = 100});
    iterator.next();
    const auto is_whole = [&] {
      iterator.peek(0, false);
      return Crew::now(getpid()).workers.size() == kMany;
    };
    for (int i = 0; i < 3; ++i) {
      // Whoever waits for a batch may have it before the last of those that ended is replaced.
      REQUIRE(comes_true(is_whole, kLimit));
      const Crew crew = Crew::now(getpid());
      for (const pid_t worker : crew.workers) kill(worker, SIGKILL);
      REQUIRE(comes_true([&] { return children_of(crew.mother).empty(); }, kLimit));
      CHECK(iterator.next().size() == 80);
      CHECK(iterator.next().size() == 80);
    }
    CHECK(comes_true(is_whole, kLimit));
  }
  CHECK(Belongings::now().text() == before.text());
}
