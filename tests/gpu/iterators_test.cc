#include <deque>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/backend.h"
#include "kusari/framework/core/deferred_copies.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/datasets/convert.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/tests/iterators/iterators_under_test.h"
#include "testing.h"

// Batches that workers write into page-locked memory, on their way to the device.
namespace kusari {
namespace {

using datasets::Example;
using testing::gpu_device;

constexpr int64_t kExamples = 61, kBatch = 8;
constexpr int kSteps = 50;

/// Images whose memory is (H, W, C), vectors and labels.
datasets::TupleDataset make_dataset() {
  const Array pixels = arange(kExamples * 7 * 6 * 3, Dtype::int32).reshape({kExamples, 7, 6, 3}).astype(Dtype::uint8);
  const Array vectors = arange(kExamples * 33).reshape({kExamples, 33});
  return datasets::TupleDataset(pixels.transpose({0, 3, 1, 2}), vectors, arange(kExamples, Dtype::int32));
}

std::vector<double> values_of(const Example& arrays) {
  std::vector<double> values;
  for (const Array& x : arrays) {
    const std::vector<double> some = x.to_vector<double>();
    values.insert(values.end(), some.begin(), some.end());
  }
  return values;
}

/// The batches of an iterator of this class on the CPU.
std::vector<std::vector<double>> expected_batches(const datasets::TupleDataset& dataset) {
  random::seed(5);
  const auto iterator = testing::make_serial(dataset, kBatch, {});
  std::vector<std::vector<double>> batches;
  for (int i = 0; i < kSteps; ++i) batches.push_back(values_of(datasets::concat_examples(iterator->next())));
  return batches;
}

/// Iterators with workers that know the device, and their names.
template <class Test>
void for_each_iterator(const datasets::TupleDataset& dataset, const Device& device, const Test& test) {
  for (const testing::IteratorClass& kind : testing::iterator_classes()) {
    CAPTURE(kind.name);
    random::seed(5);
    const auto iterator = kind.make(dataset, kBatch, {.workers = 2, .n_prefetch = 2});
    iterator->prefer_device(device);
    test(*iterator, std::string(kind.name) != "SerialIterator");
    iterator->finalize();
  }
}

/// What a kernel makes of a batch, so that it must have arrived.
Example used(const Example& batch) {
  Example result;
  for (const Array& x : batch) result.push_back(x.copy());
  return result;
}

TEST_CASE("iterators: batches arrive while others are loaded") {
  const auto device = gpu_device();
  if (!device) return;
  const datasets::TupleDataset dataset = make_dataset();
  const auto expected = expected_batches(dataset);
  for_each_iterator(dataset, *device, [&](iterators::Iterator& iterator, bool has_workers) {
    std::vector<Example> results;
    std::set<const void*> places;
    for (int step = 0; step < kSteps; ++step) {
      const iterators::Batch& batch = iterator.next();
      // The first batches show how examples lie, before there is memory for them.
      if (has_workers && step >= 10) {
        CHECK(device->backend().is_pinned(batch[0][0].raw_data()));
        CHECK(datasets::concat_examples(batch)[0].raw_data() == batch[0][0].raw_data());
      }
      places.insert(batch[0][0].raw_data());
      results.push_back(used(datasets::concat_examples(batch, *device)));
      CHECK(results.back()[0].is_channels_last());
    }
    for (size_t i = 0; i < results.size(); ++i) CHECK(values_of(results[i]) == expected[i]);
    if (has_workers) CHECK(places.size() < size_t{kSteps});  // memory is used again, the later the busier the card is
  });
}

TEST_CASE("iterators: batches that the user holds stay, on both sides") {
  const auto device = gpu_device();
  if (!device) return;
  const datasets::TupleDataset dataset = make_dataset();
  const auto expected = expected_batches(dataset);
  for_each_iterator(dataset, *device, [&](iterators::Iterator& iterator, bool) {
    std::vector<iterators::Batch> held;
    std::vector<Example> sent;
    for (int step = 0; step < kSteps; ++step) {
      const iterators::Batch& batch = iterator.next();
      if (step % 3 == 0) held.push_back(batch);
      sent.push_back(datasets::concat_examples(batch, *device));
      if (step % 7 == 6) sent[static_cast<size_t>(step) - 3] = used(sent[static_cast<size_t>(step) - 3]);
    }
    for (size_t i = 0; i < sent.size(); ++i) CHECK(values_of(sent[i]) == expected[i]);
    for (size_t i = 0; i < held.size(); ++i) CHECK(values_of(datasets::concat_examples(held[i])) == expected[3 * i]);
  });
}

TEST_CASE("iterators: batches sent two steps ahead") {
  const auto device = gpu_device();
  if (!device) return;
  const datasets::TupleDataset dataset = make_dataset();
  const auto expected = expected_batches(dataset);
  for_each_iterator(dataset, *device, [&](iterators::Iterator& iterator, bool has_workers) {
    struct Sent {
      Example batch;
      std::unique_ptr<DeferredCopies> copies;
    };
    std::deque<Sent> queue;
    const auto send = [&](const iterators::Batch& batch) {
      auto copies = std::make_unique<DeferredCopies>();
      Example arrays;
      for (size_t k = 0; k < batch[0].size(); ++k) {
        arrays.push_back(datasets::concat_examples(batch)[k].to_device_beside(*device));
      }
      copies->close();
      queue.push_back({std::move(arrays), std::move(copies)});
    };
    std::vector<Example> results;
    for (int step = 0; step < kSteps; ++step) {
      while (queue.size() < 3) {
        const iterators::Batch* const ahead = has_workers ? iterator.peek(static_cast<int64_t>(queue.size())) : nullptr;
        if (ahead == nullptr) break;
        send(*ahead);
      }
      const iterators::Batch& batch = iterator.next();
      if (queue.empty()) send(batch);
      queue.front().copies->join();
      results.push_back(used(queue.front().batch));
      queue.pop_front();
    }
    for (size_t i = 0; i < results.size(); ++i) CHECK(values_of(results[i]) == expected[i]);
  });
}

TEST_CASE("iterators: a user's memory outlives the iterator") {
  const auto device = gpu_device();
  if (!device) return;
  const datasets::TupleDataset dataset = make_dataset();
  const auto expected = expected_batches(dataset);
  for (const testing::IteratorClass& kind : testing::iterator_classes()) {
    CAPTURE(kind.name);
    std::vector<iterators::Batch> held;
    std::vector<Example> sent;
    {
      random::seed(5);
      const auto iterator = kind.make(dataset, kBatch, {.workers = 2, .n_prefetch = 2});
      iterator->prefer_device(*device);
      for (int step = 0; step < 6; ++step) {
        held.push_back(iterator->next());
        sent.push_back(datasets::concat_examples(held.back(), *device));
      }
    }
    for (size_t i = 0; i < held.size(); ++i) {
      CHECK(values_of(datasets::concat_examples(held[i])) == expected[i]);
      CHECK(values_of(sent[i]) == expected[i]);
    }
  }
}

}  // namespace
}  // namespace kusari
