#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/iterators/dataset_iterator.h"
#include "kusari/iterators/multiprocess_iterator.h"
#include "kusari/iterators/multithread_iterator.h"
#include "kusari/iterators/serial_iterator.h"

namespace kusari::testing {

using Indices = std::vector<int64_t>;

/// Options that all iterators understand, or ignore.
struct Ways {
  bool repeat = true;
  std::optional<bool> shuffle = std::nullopt;
  std::optional<iterators::OrderSamplerRef> order_sampler = std::nullopt;
  int64_t workers = 2;
  int64_t n_prefetch = 1;
};

/// A class of iterators that promises SerialIterator's batches.
struct IteratorClass {
  const char* name;
  int weight;  // of the random cases
  std::function<std::unique_ptr<iterators::DatasetIterator>(datasets::DatasetRef, int64_t batch_size, const Ways&)>
      make;
};

inline std::unique_ptr<iterators::DatasetIterator> make_serial(datasets::DatasetRef dataset, int64_t batch_size,
                                                               const Ways& ways) {
  return std::make_unique<iterators::SerialIterator>(
      std::move(dataset), batch_size,
      iterators::OrderOptions{.repeat = ways.repeat, .shuffle = ways.shuffle, .order_sampler = ways.order_sampler});
}

inline std::unique_ptr<iterators::DatasetIterator> make_multithread(datasets::DatasetRef dataset, int64_t batch_size,
                                                                    const Ways& ways) {
  return std::make_unique<iterators::MultithreadIterator>(
      std::move(dataset), batch_size,
      iterators::MultithreadIteratorOptions{.repeat = ways.repeat,
                                            .shuffle = ways.shuffle,
                                            .n_threads = ways.workers,
                                            .n_prefetch = ways.n_prefetch,
                                            .order_sampler = ways.order_sampler});
}

inline std::unique_ptr<iterators::DatasetIterator> make_multiprocess(datasets::DatasetRef dataset, int64_t batch_size,
                                                                     const Ways& ways) {
  return std::make_unique<iterators::MultiprocessIterator>(
      std::move(dataset), batch_size,
      iterators::MultiprocessIteratorOptions{.repeat = ways.repeat,
                                             .shuffle = ways.shuffle,
                                             .n_processes = ways.workers,
                                             .n_prefetch = ways.n_prefetch,
                                             .order_sampler = ways.order_sampler});
}

inline const std::vector<IteratorClass>& iterator_classes() {
  static const std::vector<IteratorClass> classes = {
      {"SerialIterator", 4, make_serial},
      {"MultithreadIterator", 5, make_multithread},
      {"MultiprocessIterator", 1, make_multiprocess},
  };
  return classes;
}

/// What a function makes of an index.
class Made final : public datasets::Dataset {
 public:
  Made(int64_t size, std::function<datasets::Example(int64_t)> make) : size_{size}, make_{std::move(make)} {}
  int64_t size() const override { return size_; }
  datasets::Example get(int64_t i) const override { return make_(i); }

 private:
  int64_t size_;
  std::function<datasets::Example(int64_t)> make_;
};

/// Example i is the number i.
inline datasets::TupleDataset counting(int64_t n) { return datasets::TupleDataset(arange(n, Dtype::int64)); }

inline Indices ascending(int64_t n) {
  Indices indices(static_cast<size_t>(n));
  std::iota(indices.begin(), indices.end(), int64_t{0});
  return indices;
}

/// The first components of a batch of scalars.
inline Indices values(const iterators::Batch& batch) {
  Indices result;
  for (const datasets::Example& example : batch) result.push_back(example[0].item<int64_t>());
  return result;
}

}  // namespace kusari::testing
