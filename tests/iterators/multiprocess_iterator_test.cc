#include "kusari/iterators/multiprocess_iterator.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/datasets/convert.h"
#include "kusari/tests/iterators/iterators_under_test.h"
#include "kusari/tests/iterators/processes.h"
#include "kusari/tests/quiet_log.h"

using namespace kusari::testing;
using kusari::arange;
using kusari::Array;
using kusari::Dtype;
using kusari::datasets::Dataset;
using kusari::datasets::Example;
using kusari::iterators::Batch;
using kusari::iterators::MultiprocessIterator;
using kusari::iterators::MultiprocessIteratorOptions;
using kusari::iterators::OnFailure;

namespace {

Array scalar(int64_t value) { return kusari::array<int64_t>({value}).reshape({}); }

void check_same(const Example& got, const Example& expected) {
  REQUIRE(got.size() == expected.size());
  for (size_t k = 0; k < got.size(); ++k) {
    CHECK(got[k].dtype() == expected[k].dtype());
    CHECK(got[k].shape() == expected[k].shape());
    CHECK(got[k].to_vector<double>() == expected[k].to_vector<double>());
  }
}

// Steps through two sweeps and compares every example with the data set's own.
void check_delivers(const Dataset& dataset, int64_t batch_size, MultiprocessIteratorOptions options) {
  options.shuffle = false;
  options.n_processes = 3;
  MultiprocessIterator iterator(dataset, batch_size, options);
  for (int64_t i = 0; i < 2 * dataset.size();) {
    for (const Example& example : iterator.next()) check_same(example, dataset.get(i++ % dataset.size()));
  }
}

}  // namespace

TEST_CASE("MultiprocessIterator refuses options out of range") {
  const auto make = [](const MultiprocessIteratorOptions& options) { MultiprocessIterator(counting(3), 2, options); };
  CHECK_THROWS_WITH_AS(
      make({.n_processes = -1}),
      "MultiprocessIterator: n_processes is -1: it must be positive and at most 65536, or 0 for all cores",
      kusari::ValueError);
  CHECK_THROWS_WITH_AS(make({.shared_mem = -1}),
                       "MultiprocessIterator: shared_mem is -1: it must be neither negative nor above 2^47",
                       kusari::ValueError);
  CHECK_THROWS_WITH_AS(make({.dataset_timeout = 0.0}),
                       "MultiprocessIterator: dataset_timeout is 0: it must be positive", kusari::ValueError);
  CHECK_THROWS_WITH_AS(make({.maxtasksperchild = 0}),
                       "MultiprocessIterator: maxtasksperchild is 0: it must be positive", kusari::ValueError);
  CHECK_THROWS_WITH_AS(make({.max_retries = -1}), "MultiprocessIterator: max_retries is -1: it must not be negative",
                       kusari::ValueError);
}

TEST_CASE("MultiprocessIterator gives all kinds of examples") {
  struct Kind {
    const char* name;
    std::function<Example(int64_t)> make;
  };
  for (const Kind& kind : {
           Kind{"one scalar", [](int64_t i) { return Example{scalar(i)}; }},
           Kind{"image and label",
                [](int64_t i) {
                  return Example{kusari::full({3, 5, 7}, i, Dtype::uint8), scalar(i)};
                }},
           Kind{"channels last",
                [](int64_t i) {
                  return Example{kusari::full({5, 7, 3}, i, Dtype::float32).transpose({2, 0, 1}), scalar(i)};
                }},
           Kind{"no elements",
                [](int64_t) {
                  return Example{kusari::zeros({0, 3})};
                }},
           Kind{"no components", [](int64_t) { return Example{}; }},
           Kind{"lengths differ",
                [](int64_t i) {
                  return Example{arange(i % 7), scalar(i)};
                }},
           Kind{"large and of different sizes",
                [](int64_t i) {
                  return Example{arange(20'000 + i), scalar(i)};
                }},
           Kind{"dtypes differ",
                [](int64_t i) { return Example{kusari::full({4}, i, i % 2 ? Dtype::float32 : Dtype::int64)}; }},
           Kind{"numbers of components differ",
                [](int64_t i) {
                  return i % 3 ? Example{scalar(i)} : Example{scalar(i), scalar(-i), arange(3)};
                }},
           Kind{"one that is odd",
                [](int64_t i) {
                  return Example{arange(i == 11 ? 9 : 4), scalar(i)};
                }},
       }) {
    CAPTURE(kind.name);
    const Made dataset(23, kind.make);
    for (const int64_t batch_size : {1, 4, 30}) {
      check_delivers(dataset, batch_size, {});
      check_delivers(dataset, batch_size, {.shared_mem = 40});
      check_delivers(dataset, batch_size, {.n_prefetch = 0, .shared_mem = 200'000});
    }
  }
}

TEST_CASE("MultiprocessIterator's batches are stacked without a copy") {
  const Made dataset(20, [](int64_t i) {
    return Example{kusari::full({5, 7, 3}, i, Dtype::float32).transpose({2, 0, 1}), scalar(i)};
  });
  MultiprocessIterator iterator(dataset, 8, {.shuffle = false, .n_processes = 2});
  for (int64_t first = 0; first < 40; first += 8) {
    const Batch& batch = iterator.next();
    const Example stacked = kusari::datasets::concat_examples(batch);
    CHECK(stacked[0].raw_data() == batch[0][0].raw_data());
    CHECK(stacked[0].shape() == kusari::Shape{8, 3, 5, 7});
    CHECK(stacked[0].is_channels_last());
    CHECK(stacked[1].raw_data() == batch[0][1].raw_data());
    for (int64_t i = 0; i < 8; ++i) CHECK(stacked[1].at(i).item<int64_t>() == (first + i) % 20);
  }
}

TEST_CASE("MultiprocessIterator: kept batches stay as they are, and others use memory again") {
  const Belongings before = Belongings::now();
  const Made dataset(64, [](int64_t i) { return Example{kusari::full({1000}, i, Dtype::int64)}; });
  std::vector<Batch> kept;
  {
    MultiprocessIterator iterator(dataset, 8, {.shuffle = false, .n_processes = 2});
    for (int i = 0; i < 40; ++i) kept.push_back(iterator.next());
    const auto first_numbers = [](const Batch& batch) {
      Indices numbers;
      for (const Example& example : batch) numbers.push_back(example[0].at(999).item<int64_t>());
      return numbers;
    };
    for (size_t i = 0; i < kept.size(); ++i) CHECK(first_numbers(kept[i])[7] == static_cast<int64_t>(i * 8 + 7) % 64);
    kept.resize(1);
    std::set<const void*> addresses;
    for (int i = 0; i < 100; ++i) addresses.insert(iterator.next()[0][0].raw_data());
    CHECK(addresses.size() <= 8);
    CHECK(Belongings::now().shared_mappings <= before.shared_mappings + 10);
  }
  CHECK(kept[0][7][0].at(999).item<int64_t>() == 7);  // after the iterator's end
  kept.clear();
  CHECK(Belongings::now().text() == before.text());
}

TEST_CASE("MultiprocessIterator throws what the data set threw") {
  const Made dataset(10, [](int64_t i) -> Example {
    if (i == 1) throw kusari::KeyError("no such name");
    if (i == 3) throw std::runtime_error("plain");
    if (i == 5) throw 5;
    if (i == 7) throw std::bad_alloc();
    if (i == 8) return Example(20, scalar(1));
    return {scalar(i)};
  });
  MultiprocessIterator iterator(dataset, 1, {.repeat = false, .shuffle = false, .n_processes = 2});
  CHECK(iterator.next()[0][0].item<int64_t>() == 0);
  CHECK_THROWS_WITH_AS(iterator.next(), "MultiprocessIterator: example 1: no such name", kusari::KeyError);
  CHECK_THROWS_AS(iterator.next(), kusari::KeyError);  // the example stays the next one
  for (const auto& [index, text] : std::map<int64_t, std::string>{{3, "plain"},
                                                                  {5, "something that is no std::exception was thrown"},
                                                                  {7, "memory is exhausted"},
                                                                  {8, "the example has 20 components"}}) {
    const Made one(1, [&dataset, at = index](int64_t) { return dataset.get(at); });
    MultiprocessIterator alone(one, 1, {.n_processes = 1});
    CHECK_THROWS_WITH_AS(alone.next(), doctest::Contains(text.c_str()), kusari::Error);
  }
}

TEST_CASE("MultiprocessIterator tries again, and leaves out, as it is told") {
  const QuietLog quiet("off");
  const auto tries = shared_value<std::atomic<int64_t>>(0);
  const auto dataset = [&](int64_t failures) {
    *tries = 0;
    return Made(20, [tries, failures](int64_t i) -> Example {
      if (i == 5 && tries->fetch_add(1) < failures) throw kusari::ValueError("not yet");
      return {scalar(i)};
    });
  };
  MultiprocessIterator patient(dataset(3), 20, {.shuffle = false, .n_processes = 2, .on_failure = OnFailure::retry});
  CHECK(values(patient.next()) == ascending(20));
  patient.finalize();

  MultiprocessIterator impatient(
      dataset(4), 20,
      {.shuffle = false, .n_processes = 2, .n_prefetch = 0, .on_failure = OnFailure::retry, .max_retries = 2});
  CHECK_THROWS_WITH_AS(impatient.next(), "MultiprocessIterator: example 5: not yet", kusari::ValueError);
  CHECK(values(impatient.next()) == ascending(20));
  impatient.finalize();

  // Nothing is prefetched, or the second batch's example 5 could be the first that is tried.
  MultiprocessIterator skipping(dataset(1), 20,
                                {.shuffle = false, .n_processes = 2, .n_prefetch = 0, .on_failure = OnFailure::skip});
  Indices without = ascending(20);
  without.erase(without.begin() + 5);
  CHECK(values(skipping.next()) == without);
  CHECK(values(skipping.next()) == ascending(20));
}

TEST_CASE("MultiprocessIterator's workers have the settings of its creator, and one thread") {
  const Made dataset(4, [](int64_t) {
    return Example{scalar(kusari::config().train.get()), scalar(kusari::num_threads())};
  });
  const auto guard = kusari::using_config(&kusari::Config::train, false);
  MultiprocessIterator iterator(dataset, 4, {.n_processes = 2});
  for (const Example& example : iterator.next()) {
    CHECK(example[0].item<int64_t>() == 0);
    CHECK(example[1].item<int64_t>() == 1);
  }
}

TEST_CASE("MultiprocessIterator replaces workers after maxtasksperchild examples") {
  const Made dataset(60, [](int64_t) { return Example{scalar(getpid())}; });
  MultiprocessIterator iterator(dataset, 12, {.n_processes = 2, .maxtasksperchild = 3});
  std::map<int64_t, int> examples;
  for (int i = 0; i < 10; ++i) {
    for (const int64_t process : values(iterator.next())) ++examples[process];
  }
  CHECK(examples.size() >= 120 / 5);
  for (const auto& [process, count] : examples) CHECK(count <= 5);
}

TEST_CASE("MultiprocessIterators of any size live side by side") {
  const Belongings before = Belongings::now();
  {
    std::vector<std::unique_ptr<MultiprocessIterator>> iterators;
    for (int64_t workers = 1; workers <= 16; ++workers) {
      iterators.push_back(std::make_unique<MultiprocessIterator>(
          counting(50), 10, MultiprocessIteratorOptions{.shuffle = false, .n_processes = workers}));
    }
    for (int64_t step = 0; step < 5; ++step) {
      for (const auto& iterator : iterators) CHECK(values(iterator->next()).front() == step * 10);
    }
    std::swap(iterators[3], iterators[12]);
    iterators.erase(iterators.begin(), iterators.begin() + 8);
    CHECK(children_of(getpid()).size() == before.children.size() + 8);
    for (const auto& iterator : iterators) CHECK(values(iterator->next()).front() == 0);
    iterators.clear();
  }
  CHECK(Belongings::now().text() == before.text());
}

TEST_CASE("MultiprocessIterator drops what it loads ahead") {
  MultiprocessIterator iterator(counting(100), 7, {.shuffle = false, .n_processes = 3, .n_prefetch = 5});
  for (int repeat = 0; repeat < 50; ++repeat) {
    CHECK(values(iterator.next()).front() == 0);
    if (repeat % 2) CHECK(values(iterator.next()).front() == 7);
    iterator.reset();
  }
}

TEST_CASE("MultiprocessIterator belongs to the process that made it") {
  MultiprocessIterator iterator(counting(100), 5, {.shuffle = false, .n_processes = 2});
  iterator.next();
  {
    Child child([&](const auto& tell) {
      try {
        iterator.next();
      } catch (const kusari::StateError& error) {
        tell(error.what());
      }
      iterator.finalize();  // must not end the workers
    });
    CHECK(child.hear().find("belongs to the process from which this one was forked") != std::string::npos);
    CHECK(child.wait() == 0);
  }
  for (int64_t i = 5; i < 50; i += 5) CHECK(values(iterator.next()).front() == i);
}

TEST_CASE("MultiprocessIterator refuses sizes that no memory has") {
  CHECK_THROWS_AS(MultiprocessIterator(counting(4), int64_t{1} << 40, {.n_processes = 1}), kusari::ValueError);
  CHECK_THROWS_AS(MultiprocessIterator(counting(4), 2, {.n_processes = int64_t{1} << 40}), kusari::ValueError);
  CHECK_THROWS_AS(MultiprocessIterator(counting(4), 2, {.n_processes = 1, .shared_mem = int64_t{1} << 60}),
                  kusari::ValueError);
  MultiprocessIterator iterator(counting(1 << 18), 1 << 18, {.n_processes = 1, .shared_mem = int64_t{1} << 46});
  for (int i = 0; i < 2; ++i) CHECK_THROWS_AS(iterator.next(), kusari::OutOfMemoryError);
}

TEST_CASE("MultiprocessIterator says so when its process has too many open files") {
  const auto of_any_size = [](int64_t i) -> Example { return {kusari::zeros({100'000 + i}, Dtype::uint8)}; };
  rlimit before;
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  MultiprocessIterator iterator(Made(100, of_any_size), 10, {.shuffle = false, .n_processes = 2, .n_prefetch = 0});
  iterator.next();
  const int next = dup(0);
  close(next);
  const rlimit full{static_cast<rlim_t>(next), before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &full) == 0);
  CHECK_THROWS_WITH_AS(iterator.next(), doctest::Contains("too many open files"), kusari::IoError);
  CHECK_THROWS_AS(MultiprocessIterator(counting(4), 2, {.n_processes = 1}), kusari::IoError);
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(iterator.next().size() == 10);
}
