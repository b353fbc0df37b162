#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/shared.h"
#include "kusari/framework/datasets/dataset.h"

namespace kusari::datasets {

/// Examples start .. finish-1 of a data set, or, with an order, examples order[start] .. order[finish-1].
/// Throws ValueError unless 0 <= start <= finish <= size and the order is as long as the data set.
/// chainer.datasets.SubDataset.
class KUSARI_API SubDataset final : public Dataset {
 public:
  SubDataset(DatasetRef dataset, int64_t start, int64_t finish);
  SubDataset(DatasetRef dataset, int64_t start, int64_t finish, std::vector<int64_t> order);

  int64_t size() const override { return finish_ - start_; }
  Example get(int64_t i) const override;
  Keys keys() const override { return dataset_->keys(); }

 private:
  friend struct Splitter;
  using Order = Shared<const std::vector<int64_t>>;
  SubDataset(Order order, DatasetRef dataset, int64_t start, int64_t finish);

  DatasetRef dataset_;
  int64_t start_;
  int64_t finish_;
  Order order_;
};

/// The two parts of a data set. What takes memory for each example or part, and has none, throws OutOfMemoryError.
using DatasetPair = std::pair<SubDataset, SubDataset>;

/// The first `split_at` examples and the others. chainer.datasets.split_dataset.
KUSARI_API DatasetPair split_dataset(const DatasetRef& dataset, int64_t split_at);
KUSARI_API DatasetPair split_dataset(const DatasetRef& dataset, int64_t split_at, std::vector<int64_t> order);
/// The same in a random order: of the process's random stream, or the one that `seed` determines.
KUSARI_API DatasetPair split_dataset_random(const DatasetRef& dataset, int64_t split_at,
                                            std::optional<uint64_t> seed = std::nullopt);
/// n parts of size / n examples each; the rest is left out, as in chainer.datasets.split_dataset_n.
KUSARI_API std::vector<SubDataset> split_dataset_n(const DatasetRef& dataset, int64_t n);
KUSARI_API std::vector<SubDataset> split_dataset_n(const DatasetRef& dataset, int64_t n, std::vector<int64_t> order);
KUSARI_API std::vector<SubDataset> split_dataset_n_random(const DatasetRef& dataset, int64_t n,
                                                          std::optional<uint64_t> seed = std::nullopt);
/// n_folds pairs of training and validation set, each example being in one validation set.
/// chainer.datasets.get_cross_validation_datasets.
KUSARI_API std::vector<DatasetPair> get_cross_validation_datasets(const DatasetRef& dataset, int64_t n_folds);
KUSARI_API std::vector<DatasetPair> get_cross_validation_datasets(const DatasetRef& dataset, int64_t n_folds,
                                                                  std::vector<int64_t> order);
KUSARI_API std::vector<DatasetPair> get_cross_validation_datasets_random(const DatasetRef& dataset, int64_t n_folds,
                                                                         std::optional<uint64_t> seed = std::nullopt);

}  // namespace kusari::datasets
