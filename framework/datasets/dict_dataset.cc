#include "kusari/framework/datasets/dict_dataset.h"

#include <algorithm>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/tuple_dataset.h"

namespace kusari::datasets {
namespace {

TupleDataset rows_of(const std::vector<DictDataset::Column>& columns) {
  if (columns.empty()) throw ValueError("DictDataset: no arrays are given");
  Example arrays;
  for (const auto& [key, array] : columns) {
    const std::string which = "DictDataset: '" + key + "'";
    if (!array.is_defined()) throw ValueError(which + " is an undefined array");
    if (array.ndim() == 0) throw ValueError(which + " is a scalar: its first axis must count the examples");
    if (array.shape()[0] != columns[0].second.shape()[0]) {
      throw ValueError(which + " has shape " + to_string(array.shape()) + " but '" + columns[0].first + "' has shape " +
                       to_string(columns[0].second.shape()) + ": the first axes must be equal");
    }
    arrays.push_back(array);
  }
  return TupleDataset(std::move(arrays));
}

Keys keys_of(const std::vector<DictDataset::Column>& columns) {
  Keys keys;
  for (const auto& [key, array] : columns) keys.push_back(key);
  return keys;
}

}  // namespace

DictDataset::DictDataset(const std::vector<Column>& columns) : DictDataset(rows_of(columns), keys_of(columns)) {}

DictDataset::DictDataset(DatasetRef dataset, Keys keys) : dataset_{std::move(dataset)}, keys_{std::move(keys)} {
  if (keys_.empty()) throw ValueError("DictDataset: no keys are given");
  for (auto key = keys_.begin(); key != keys_.end(); ++key) {
    if (key->empty()) throw ValueError("DictDataset: a key is empty");
    if (std::find(keys_.begin(), key, *key) != key) {
      throw ValueError("DictDataset: the key '" + *key + "' comes twice");
    }
  }
}

Example DictDataset::get(int64_t i) const {
  check_index("DictDataset::get", i, size());
  Example example = dataset_->get(i);
  if (example.size() != keys_.size()) {
    throw ValueError("DictDataset::get: example " + std::to_string(i) + " has " + std::to_string(example.size()) +
                     " components, but there are " + std::to_string(keys_.size()) + " keys");
  }
  return example;
}

}  // namespace kusari::datasets
