#include "kusari/framework/datasets/joined_dataset.h"

#include <algorithm>
#include <string>
#include <utility>

#include "kusari/framework/core/error.h"

namespace kusari::datasets {

JoinedDataset::JoinedDataset(std::vector<DatasetRef> datasets) : datasets_{std::move(datasets)} {
  if (datasets_.empty()) throw ValueError("JoinedDataset: no data sets are given");
  const bool has_keys = !datasets_[0]->keys().empty();
  for (size_t i = 0; i < datasets_.size(); ++i) {
    const Keys keys = datasets_[i]->keys();
    if (datasets_[i]->size() != size()) {
      throw ValueError("JoinedDataset: data set " + std::to_string(i) + " has " + std::to_string(datasets_[i]->size()) +
                       " examples but data set 0 has " + std::to_string(size()));
    }
    if (keys.empty() == has_keys) {
      throw ValueError("JoinedDataset: data set " + std::to_string(i) + (has_keys ? " has no keys" : " has keys") +
                       " but data set 0 has " + (has_keys ? "some" : "none"));
    }
    for (const std::string& key : keys) {
      if (std::find(keys_.begin(), keys_.end(), key) != keys_.end()) {
        throw ValueError("JoinedDataset: the key '" + key + "' comes twice");
      }
      keys_.push_back(key);
    }
  }
}

Example JoinedDataset::get(int64_t i) const {
  check_index("JoinedDataset::get", i, size());
  Example joined;
  for (const DatasetRef& dataset : datasets_) {
    for (Array& component : dataset->get(i)) joined.push_back(std::move(component));
  }
  return joined;
}

}  // namespace kusari::datasets
