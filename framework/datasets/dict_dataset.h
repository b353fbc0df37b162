#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/dataset.h"

namespace kusari::datasets {

/// A data set whose components have names: whole arrays, whose row i is the component of example i, or the components
/// of another data set. `DictDataset({{"image", x}, {"label", t}})`, `DictDataset(train, {"image", "label"})`.
/// Examples are the arrays in the order of the keys. What passes them on has the keys too: other data sets, iterators,
/// updaters and evaluators, which call models by name that take DictVariables.
/// Throws ValueError without keys, for a key that comes twice or is empty, and for arrays of different lengths.
/// chainer.datasets.DictDataset.
class KUSARI_API DictDataset final : public Dataset {
 public:
  using Column = std::pair<std::string, Array>;

  explicit DictDataset(std::initializer_list<Column> columns) : DictDataset(std::vector<Column>(columns)) {}
  explicit DictDataset(const std::vector<Column>& columns);
  DictDataset(DatasetRef dataset, Keys keys);

  int64_t size() const override { return dataset_->size(); }
  /// Throws ValueError when the data set's example has not as many components as there are keys.
  Example get(int64_t i) const override;
  Keys keys() const override { return keys_; }

 private:
  DatasetRef dataset_;
  Keys keys_;
};

}  // namespace kusari::datasets
