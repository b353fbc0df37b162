#include "kusari/iterators/multithread_iterator.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/memory.h"
#include "kusari/framework/datasets/collated.h"
#include "kusari/framework/datasets/convert.h"
#include "kusari/framework/datasets/example_random.h"
#include "kusari/tests/iterators/iterators_under_test.h"
#include "kusari/tests/iterators/seconds_since.h"
#include "kusari/tests/no_threads.h"

using namespace std::chrono_literals;
using kusari::Array;
using kusari::Dtype;
using kusari::WorkerError;
using kusari::datasets::collated;
using kusari::datasets::Example;
using kusari::datasets::TupleDataset;
using kusari::iterators::Batch;
using kusari::iterators::MultithreadIterator;
using kusari::iterators::OnFailure;
using kusari::testing::counting;
using kusari::testing::Indices;
using kusari::testing::Made;
using kusari::testing::seconds_since;
using kusari::testing::values;

namespace {

Example number(int64_t i) { return {kusari::array<int64_t>({i}).reshape({})}; }

/// Holds whoever comes until it is opened.
class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.wait(lock, [&] { return open_; });
    --waiting_;
    changed_.notify_all();
  }
  void open() {
    const std::scoped_lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  /// Opens, and waits until all have passed.
  void open_for_all() {
    open();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int waiting_ = 0;
};

constexpr double kTimeout = 0.5;  // of a stuck example, and far beyond what others need on a busy machine
constexpr double kSoon = 20;      // beyond what anything that does not hang needs

}  // namespace

TEST_CASE("MultithreadIterator refuses options that cannot work") {
  const auto make = [](const kusari::iterators::MultithreadIteratorOptions& options) {
    MultithreadIterator(counting(3), 1, options);
  };
  CHECK_THROWS_WITH_AS(make({.n_threads = -1}),
                       "MultithreadIterator: n_threads is -1: it must be positive and at most 4096, or 0 for all cores",
                       kusari::ValueError);
  for (const int64_t many : {int64_t{4097}, int64_t{1'000'000}, std::numeric_limits<int64_t>::max()}) {
    CHECK_THROWS_WITH_AS(make({.n_threads = many}), doctest::Contains(std::to_string(many).c_str()),
                         kusari::ValueError);
  }
  CHECK_THROWS_WITH_AS(make({.n_prefetch = -1}), "MultithreadIterator: n_prefetch is -1: it must not be negative",
                       kusari::ValueError);
  CHECK_THROWS_WITH_AS(make({.dataset_timeout = 0}), doctest::Contains("dataset_timeout is 0"), kusari::ValueError);
  CHECK_THROWS_WITH_AS(make({.max_retries = -2}), "MultithreadIterator: max_retries is -2: it must not be negative",
                       kusari::ValueError);
  CHECK(MultithreadIterator(counting(3), 1).n_threads() >= 1);
}

TEST_CASE("MultithreadIterator: what an example throws reaches the caller with its index") {
  const auto failing = [](const std::function<void()>& fail) {
    return Made(8, [fail](int64_t i) {
      if (i == 5 || i == 6) fail();
      return number(i);
    });
  };
  const auto next = [&](const std::function<void()>& fail) {
    MultithreadIterator iterator(failing(fail), 4, {.shuffle = false, .n_threads = 3});
    CHECK(values(iterator.next()) == Indices{0, 1, 2, 3});
    iterator.next();
  };
  CHECK_THROWS_WITH_AS(next([] { throw kusari::IoError("no such file"); }),
                       "MultithreadIterator: example 5: no such file", kusari::IoError);
  CHECK_THROWS_WITH_AS(next([] { throw std::bad_alloc(); }), doctest::Contains("example 5: "),
                       kusari::OutOfMemoryError);
  CHECK_THROWS_WITH_AS(next([] { throw std::out_of_range("far"); }), "MultithreadIterator: example 5: far",
                       kusari::Error);
  CHECK_THROWS_WITH_AS(next([] { throw 17; }), doctest::Contains("no std::exception"), kusari::Error);
}

TEST_CASE("MultithreadIterator tries the missing examples again after it threw") {
  std::atomic<int> calls{0}, failures{2};
  MultithreadIterator iterator(Made(8,
                                    [&](int64_t i) {
                                      ++calls;
                                      if (i == 2 && failures-- > 0) throw kusari::IoError("not yet");
                                      return number(i);
                                    }),
                               4, {.shuffle = false, .n_threads = 2, .n_prefetch = 0});
  CHECK(iterator.peek(0) == nullptr);
  CHECK(iterator.peek(0) == nullptr);  // kept for next()
  CHECK_THROWS_AS(iterator.next(), kusari::IoError);
  CHECK_THROWS_AS(iterator.next(), kusari::IoError);
  CHECK(iterator.epoch_detail() == 0);
  CHECK(values(iterator.next()) == Indices{0, 1, 2, 3});
  CHECK(calls == 6);
  CHECK(values(iterator.next()) == Indices{4, 5, 6, 7});
}

TEST_CASE("MultithreadIterator tries examples again when told so") {
  std::atomic<int> failures{3};
  const Made dataset(4, [&](int64_t i) {
    const auto drawn = static_cast<int64_t>(kusari::random::bits() >> 1);
    if (i == 1 && failures-- > 0) throw kusari::IoError("not yet");
    return Example{kusari::array<int64_t>({i, drawn})};
  });
  const auto make = [&] {
    kusari::random::seed(9);
    return MultithreadIterator(dataset, 4,
                               {.shuffle = false, .n_prefetch = 0, .on_failure = OnFailure::retry, .max_retries = 3});
  };
  const auto numbers = [](const Batch& batch) { return batch[1][0].to_vector<int64_t>(); };
  MultithreadIterator retrying = make();
  const Indices drawn = numbers(retrying.next());
  MultithreadIterator smooth = make();
  CHECK(numbers(smooth.next()) == drawn);
  failures = 4;
  MultithreadIterator failing = make();
  CHECK_THROWS_WITH_AS(failing.next(), "MultithreadIterator: example 1: not yet", kusari::IoError);
  CHECK(numbers(failing.next()) == drawn);
}

TEST_CASE("MultithreadIterator leaves examples out when told so") {
  const auto without = [](std::set<int64_t> bad) {
    return Made(12, [bad](int64_t i) {
      if (bad.contains(i)) throw kusari::IoError("damaged");
      return number(i);
    });
  };
  const kusari::iterators::MultithreadIteratorOptions skip{
      .shuffle = false, .n_threads = 2, .on_failure = OnFailure::skip};
  MultithreadIterator iterator(without({1, 2, 7}), 4, skip);
  for (int sweep = 0; sweep < 3; ++sweep) {  // the second sweep's batches lie in planes
    CHECK(values(iterator.next()) == Indices{0, 3});
    CHECK(values(iterator.next()) == Indices{4, 5, 6});
    CHECK(values(iterator.next()) == Indices{8, 9, 10, 11});
    CHECK(iterator.epoch_detail() == sweep + 1);
  }

  // A batch of which nothing is left counts as part of the next one.
  MultithreadIterator joined(without({8, 9, 10, 11}), 4, skip);
  joined.next();
  CHECK(values(*joined.peek(1)) == Indices{0, 1, 2, 3});
  CHECK(values(joined.next()) == Indices{4, 5, 6, 7});
  CHECK_FALSE(joined.is_new_epoch());
  CHECK(values(joined.next()) == Indices{0, 1, 2, 3});
  CHECK(joined.is_new_epoch());
  CHECK(joined.previous_epoch_detail() == doctest::Approx(2.0 / 3));
  CHECK(joined.epoch_detail() == doctest::Approx(4.0 / 3));

  kusari::iterators::MultithreadIteratorOptions once = skip;
  once.repeat = false;
  MultithreadIterator ending(without({8, 9, 10, 11}), 4, once);
  ending.next();
  ending.next();
  CHECK(ending.try_next() == nullptr);
  CHECK(ending.epoch() == 1);

  MultithreadIterator hopeless(without({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}), 4, skip);
  CHECK_THROWS_WITH_AS(hopeless.next(), doctest::Contains("examples in a row failed"), kusari::Error);
}

TEST_CASE("MultithreadIterator: an example that takes too long is an error") {
  Gate gate;
  const Made dataset(8, [&](int64_t i) {
    if (i == 2) gate.pass();
    return number(i);
  });
  MultithreadIterator iterator(dataset, 4, {.shuffle = false, .n_threads = 2, .dataset_timeout = kTimeout});
  for (int time = 0; time < 2; ++time) {
    const auto start = std::chrono::steady_clock::now();
    CHECK_THROWS_WITH_AS(iterator.next(), doctest::Contains("MultithreadIterator: example 2: worker thread "),
                         WorkerError);
    CHECK(seconds_since(start) < kSoon);
  }
  gate.open_for_all();
  CHECK(values(iterator.next()) == Indices{0, 1, 2, 3});
  CHECK(values(iterator.next()) == Indices{4, 5, 6, 7});
}

TEST_CASE("MultithreadIterator tries an example again after it threw because its thread is stuck") {
  for (const int64_t threads : {1, 3}) {
    Gate gate;  // stays closed: the thread of the first attempt never comes back
    std::atomic<int> attempts{0};
    const Made dataset(12, [&](int64_t i) {
      if (i == 2 && attempts++ == 0) gate.pass();
      return number(i);
    });
    {
      MultithreadIterator iterator(
          dataset, 4, {.shuffle = false, .n_threads = threads, .n_prefetch = 2, .dataset_timeout = kTimeout});
      CHECK_THROWS_WITH_AS(iterator.next(), doctest::Contains("MultithreadIterator: example 2: worker thread "),
                           WorkerError);
      CHECK(values(iterator.next()) == Indices{0, 1, 2, 3});
      CHECK(values(iterator.next()) == Indices{4, 5, 6, 7});
      CHECK(values(iterator.next()) == Indices{8, 9, 10, 11});
      CHECK(values(iterator.next()) == Indices{0, 1, 2, 3});
    }
    gate.open_for_all();
  }
}

TEST_CASE("MultithreadIterator outlives examples that end their threads") {
  for (const OnFailure on_failure : {OnFailure::raise, OnFailure::retry, OnFailure::skip}) {
    for (const std::optional<double> timeout : {std::optional<double>(20), std::optional<double>()}) {
      std::atomic<int> ends{2};
      const Made dataset(8, [&](int64_t i) {
        if (i == 1 && ends-- > 0) pthread_exit(nullptr);
        return number(i);
      });
      MultithreadIterator iterator(
          dataset, 4,
          {.shuffle = false, .n_threads = 2, .dataset_timeout = timeout, .on_failure = on_failure, .max_retries = 2});
      if (on_failure == OnFailure::raise) {
        for (int i = 0; i < 2; ++i) {
          CHECK_THROWS_WITH_AS(iterator.next(), doctest::Contains("example 1: worker thread "), WorkerError);
        }
      }
      CHECK(values(iterator.next()) == (on_failure == OnFailure::skip ? Indices{0, 2, 3} : Indices{0, 1, 2, 3}));
      CHECK(values(iterator.next()) == Indices{4, 5, 6, 7});
    }
  }
}

TEST_CASE("MultithreadIterator without threads") {
  MultithreadIterator iterator(counting(8), 4, {.shuffle = false, .n_threads = 3});
  {
    const kusari::testing::NoThreads none;
    for (int i = 0; i < 2; ++i) {
      CHECK_THROWS_WITH_AS(iterator.next(), doctest::Contains("MultithreadIterator: thread 1 of 3 cannot be started: "),
                           WorkerError);
    }
  }
  CHECK(values(iterator.next()) == Indices{0, 1, 2, 3});
  CHECK(values(iterator.next()) == Indices{4, 5, 6, 7});
}

TEST_CASE("MultithreadIterator starts no more threads than there are examples under way") {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  const Made dataset(64, [&](int64_t i) {
    const std::scoped_lock lock(mutex);
    threads.insert(std::this_thread::get_id());
    return number(i);
  });
  MultithreadIterator iterator(dataset, 3, {.n_threads = 4096, .n_prefetch = 1});
  for (int i = 0; i < 100; ++i) iterator.next();
  CHECK(threads.size() <= 9);
}

TEST_CASE("MultithreadIterator makes no planes for examples that all differ") {
  constexpr int64_t kMiB = int64_t{1} << 20;
  const Made dataset(40, [](int64_t i) { return Example{kusari::empty({i % 8 == 0 ? kMiB : i}, Dtype::uint8)}; });
  MultithreadIterator iterator(dataset, 8, {.shuffle = false, .n_threads = 2});
  for (int i = 0; i < 20; ++i) CHECK_FALSE(collated(iterator.next(), 0).is_defined());
  // A batch that is on its way and two more have a large example each; as rows of a plane they would be eight.
  CHECK(kusari::memory::statistics().allocated < 8 * kMiB);
}

TEST_CASE("MultithreadIterator gives stuck examples to another thread, or leaves them out") {
  for (const int64_t threads : {1, 3}) {
    for (const OnFailure on_failure : {OnFailure::retry, OnFailure::skip}) {
      Gate gate;
      std::atomic<int> stuck{0};
      const Made dataset(8, [&](int64_t i) {
        if (i == 1 && stuck++ == 0) gate.pass();
        return number(i);
      });
      MultithreadIterator iterator(dataset, 4,
                                   {.shuffle = false,
                                    .n_threads = threads,
                                    .dataset_timeout = kTimeout,
                                    .on_failure = on_failure,
                                    .max_retries = 1});
      const bool retries = on_failure == OnFailure::retry;
      CHECK(values(iterator.next()) == (retries ? Indices{0, 1, 2, 3} : Indices{0, 2, 3}));
      CHECK(values(iterator.next()) == Indices{4, 5, 6, 7});
      CHECK(values(iterator.next()) == Indices{0, 1, 2, 3});
      CHECK(stuck.load() == (retries ? 3 : 2));
      gate.open_for_all();
    }
  }
}

TEST_CASE("MultithreadIterator ends although a thread is stuck") {
  Gate gate;
  const Made dataset(4, [&](int64_t i) {
    gate.pass();
    return number(i);
  });
  const auto start = std::chrono::steady_clock::now();
  {
    MultithreadIterator iterator(dataset, 2, {.n_threads = 2, .dataset_timeout = 0.05});
    CHECK_THROWS_AS(iterator.next(), WorkerError);
    iterator.reset();
    iterator.finalize();
    CHECK_THROWS_AS(iterator.next(), WorkerError);  // of new threads
  }
  CHECK(seconds_since(start) < kSoon);
  gate.open_for_all();
}

TEST_CASE("MultithreadIterator may end at any time") {
  for (int i = 0; i < 200; ++i) {
    MultithreadIterator iterator(counting(100), 10, {.n_threads = 1 + i % 4, .n_prefetch = i % 3});
    for (int step = 0; step < i % 5; ++step) iterator.next();
    if (i % 7 == 0) iterator.reset();
    if (i % 2 == 0) iterator.finalize();
    MultithreadIterator moved(std::move(iterator));
    if (i % 2 == 1) CHECK(moved.next().size() == 10);
  }
}

TEST_CASE("MultithreadIterator writes batches where they need no further copy") {
  const Array images = kusari::arange(7 * 4 * 5 * 3, Dtype::int32).reshape({7, 4, 5, 3}).transpose({0, 3, 1, 2});
  const TupleDataset dataset(images, kusari::arange(7, Dtype::int64));
  MultithreadIterator iterator(dataset, 3, {.repeat = false, .shuffle = false, .n_threads = 3, .n_prefetch = 1});
  for (int sweep = 0; sweep < 3; ++sweep) {
    std::vector<Batch> held;
    for (const Batch& batch : iterator) held.push_back(batch);
    REQUIRE(held.size() == 3);
    for (int64_t b = 0; b < 3; ++b) {
      const Batch& batch = held[static_cast<size_t>(b)];
      const int64_t count = b < 2 ? 3 : 1;
      REQUIRE(batch.size() == static_cast<size_t>(count));
      const Array whole = collated(batch, 0);
      const bool is_first = sweep == 0 && b < 2;  // submitted before there was a layout
      CHECK(whole.is_defined() == !is_first);
      CHECK(collated(batch, 1).is_defined() == !is_first);
      const Array expected = images.slice(0, 3 * b, count);
      for (int64_t i = 0; i < count; ++i) {
        const Array image = batch[static_cast<size_t>(i)][0];
        CHECK(image.to_vector<int32_t>() == expected.at(i).to_vector<int32_t>());
        CHECK(image.strides() == expected.at(i).strides());
      }
      if (!whole.is_defined()) continue;
      CHECK(whole.is_channels_last());
      CHECK(whole.to_vector<int32_t>() == expected.to_vector<int32_t>());
    }
    iterator.reset();
  }
}

TEST_CASE("MultithreadIterator keeps examples that are unlike the first") {
  const Made dataset(9, [](int64_t i) {
    Example example = number(i);
    example.push_back(kusari::full({i % 3 == 1 ? 5 : 2}, i, i % 3 == 2 ? Dtype::float32 : Dtype::int64));
    return example;
  });
  MultithreadIterator iterator(dataset, 3, {.shuffle = false, .n_threads = 2});
  for (int sweep = 0; sweep < 3; ++sweep) {
    for (int64_t b = 0; b < 3; ++b) {
      const Batch& batch = iterator.next();
      CHECK(values(batch) == Indices{3 * b, 3 * b + 1, 3 * b + 2});
      for (size_t i = 0; i < 3; ++i) {
        const Array second = batch[i][1];
        CHECK(second.size() == (i == 1 ? 5 : 2));
        CHECK(second.dtype() == (i == 2 ? Dtype::float32 : Dtype::int64));
        CHECK(second.to_vector<int64_t>().back() == 3 * b + static_cast<int64_t>(i));
      }
      CHECK_FALSE(collated(batch, 1).is_defined());
    }
  }
}

TEST_CASE("MultithreadIterator's threads have the settings of the one that made it") {
  const auto guard = kusari::using_config(&kusari::Config::train, false);
  MultithreadIterator iterator(Made(4,
                                    [main = std::this_thread::get_id()](int64_t) {
                                      const bool is_worker = std::this_thread::get_id() != main;
                                      return number(is_worker && !kusari::config().train);
                                    }),
                               4);
  CHECK(values(iterator.next()) == Indices{1, 1, 1, 1});
}

TEST_CASE("MultithreadIterator: a timeout may be endless") {
  MultithreadIterator iterator(counting(8), 4, {.shuffle = false, .n_threads = 2, .dataset_timeout = 1e300});
  CHECK(values(iterator.next()) == Indices{0, 1, 2, 3});
  const Made slow(8, [](int64_t i) {
    std::this_thread::sleep_for(5ms);
    return number(i);
  });
  MultithreadIterator patient(slow, 4, {.shuffle = false, .n_threads = 2, .dataset_timeout = 1e12});
  CHECK(values(patient.next()) == Indices{0, 1, 2, 3});
}

TEST_CASE("MultithreadIterator does not try again what nobody wants any more") {
  std::atomic<int64_t> tries{0};
  const Made dataset(4, [&](int64_t) -> Example {
    ++tries;
    std::this_thread::sleep_for(2ms);
    throw kusari::ValueError("never");
  });
  const auto start = std::chrono::steady_clock::now();
  {
    MultithreadIterator iterator(dataset, 1,
                                 {.n_threads = 1, .on_failure = OnFailure::retry, .max_retries = 1'000'000});
    iterator.peek(0, false);
    while (tries == 0) std::this_thread::yield();
  }
  CHECK(seconds_since(start) < kSoon);  // a million times take half an hour
}
