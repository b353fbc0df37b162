#include "kusari/framework/datasets/sub_dataset.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/host_vector.h"
#include "kusari/framework/core/random.h"

namespace kusari::datasets {

/// Makes parts that share one order.
struct Splitter {
  DatasetRef dataset;
  SubDataset::Order order;

  Splitter(const DatasetRef& whole, std::vector<int64_t> indices)
      : dataset{whole}, order{std::make_shared<const std::vector<int64_t>>(std::move(indices))} {}
  explicit Splitter(const DatasetRef& whole) : dataset{whole} {}

  SubDataset part(int64_t start, int64_t finish) const { return SubDataset(order, dataset, start, finish); }

  DatasetPair pair(int64_t split_at) const {
    const int64_t n = dataset->size();
    if (split_at < 0 || split_at > n) {
      throw ValueError("split_dataset: split_at is " + std::to_string(split_at) + ": it must be 0 .. " +
                       std::to_string(n) + ", the size of the data set");
    }
    return {part(0, split_at), part(split_at, n)};
  }

  std::vector<SubDataset> parts(int64_t n) const {
    if (n < 1) throw ValueError("split_dataset_n: n is " + std::to_string(n) + ": it must be at least 1");
    const int64_t size = dataset->size() / n;
    return in_host_memory("split_dataset_n", [&] {
      std::vector<SubDataset> result;
      result.reserve(static_cast<size_t>(n));
      for (int64_t i = 0; i < n; ++i) result.push_back(part(size * i, size * (i + 1)));
      return result;
    });
  }
};

namespace {

std::vector<int64_t> random_order(const DatasetRef& dataset, std::optional<uint64_t> seed) {
  return seed ? random::permutation(dataset->size(), *seed) : random::permutation(dataset->size());
}

std::vector<DatasetPair> cross_validation(const DatasetRef& dataset, int64_t n_folds, std::vector<int64_t> order) {
  const int64_t n = dataset->size();
  if (n_folds < 1 || n_folds > n) {
    throw ValueError("get_cross_validation_datasets: n_folds is " + std::to_string(n_folds) + ": it must be 1 .. " +
                     std::to_string(n) + ", the size of the data set");
  }
  if (static_cast<int64_t>(order.size()) != n) {
    throw ValueError("get_cross_validation_datasets: the order has " + std::to_string(order.size()) +
                     " entries, but the data set has " + std::to_string(n) + " examples");
  }
  return in_host_memory("get_cross_validation_datasets", [&] {
    std::vector<DatasetPair> folds;
    for (int64_t i = n_folds - 1; i >= 0; --i) {
      const int64_t test_size = n * (i + 1) / n_folds - n * i / n_folds;
      folds.push_back(Splitter(dataset, order).pair(n - test_size));
      std::rotate(order.begin(), order.end() - test_size, order.end());
    }
    return folds;
  });
}

}  // namespace

SubDataset::SubDataset(DatasetRef dataset, int64_t start, int64_t finish)
    : SubDataset(Order(), std::move(dataset), start, finish) {}
SubDataset::SubDataset(DatasetRef dataset, int64_t start, int64_t finish, std::vector<int64_t> order)
    : SubDataset(std::make_shared<const std::vector<int64_t>>(std::move(order)), std::move(dataset), start, finish) {}

SubDataset::SubDataset(Order order, DatasetRef dataset, int64_t start, int64_t finish)
    : dataset_{std::move(dataset)}, start_{start}, finish_{finish}, order_{std::move(order)} {
  const int64_t n = dataset_->size();
  if (start < 0 || start > finish || finish > n) {
    throw ValueError("SubDataset: examples " + std::to_string(start) + " .. " + std::to_string(finish) +
                     " are asked for, but the data set has " + std::to_string(n));
  }
  if (order_ && static_cast<int64_t>(order_->size()) != n) {
    throw ValueError("SubDataset: the order has " + std::to_string(order_->size()) + " entries, but the data set has " +
                     std::to_string(n) + " examples");
  }
}

Example SubDataset::get(int64_t i) const {
  check_index("SubDataset::get", i, size());
  return dataset_->get(order_ ? (*order_)[static_cast<size_t>(start_ + i)] : start_ + i);
}

DatasetPair split_dataset(const DatasetRef& dataset, int64_t split_at) { return Splitter(dataset).pair(split_at); }
DatasetPair split_dataset(const DatasetRef& dataset, int64_t split_at, std::vector<int64_t> order) {
  return Splitter(dataset, std::move(order)).pair(split_at);
}
DatasetPair split_dataset_random(const DatasetRef& dataset, int64_t split_at, std::optional<uint64_t> seed) {
  return Splitter(dataset, random_order(dataset, seed)).pair(split_at);
}

std::vector<SubDataset> split_dataset_n(const DatasetRef& dataset, int64_t n) { return Splitter(dataset).parts(n); }
std::vector<SubDataset> split_dataset_n(const DatasetRef& dataset, int64_t n, std::vector<int64_t> order) {
  return Splitter(dataset, std::move(order)).parts(n);
}
std::vector<SubDataset> split_dataset_n_random(const DatasetRef& dataset, int64_t n, std::optional<uint64_t> seed) {
  return Splitter(dataset, random_order(dataset, seed)).parts(n);
}

std::vector<DatasetPair> get_cross_validation_datasets(const DatasetRef& dataset, int64_t n_folds) {
  std::vector<int64_t> order = host_vector<int64_t>({dataset->size()}, "get_cross_validation_datasets");
  std::iota(order.begin(), order.end(), int64_t{0});
  return cross_validation(dataset, n_folds, std::move(order));
}
std::vector<DatasetPair> get_cross_validation_datasets(const DatasetRef& dataset, int64_t n_folds,
                                                       std::vector<int64_t> order) {
  return cross_validation(dataset, n_folds, std::move(order));
}
std::vector<DatasetPair> get_cross_validation_datasets_random(const DatasetRef& dataset, int64_t n_folds,
                                                              std::optional<uint64_t> seed) {
  return cross_validation(dataset, n_folds, random_order(dataset, seed));
}

}  // namespace kusari::datasets
