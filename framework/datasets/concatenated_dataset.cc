#include "kusari/framework/datasets/concatenated_dataset.h"

#include <algorithm>
#include <string>
#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/quoted_keys.h"

namespace kusari::datasets {

ConcatenatedDataset::ConcatenatedDataset(std::vector<DatasetRef> datasets) : datasets_{std::move(datasets)} {
  int64_t end = 0;
  for (const DatasetRef& dataset : datasets_) {
    ends_.push_back(end += dataset->size());
    if (dataset->keys() != keys()) {
      throw ValueError("ConcatenatedDataset: data set " + std::to_string(ends_.size() - 1) + " has the keys " +
                       quoted_keys(dataset->keys()) + " but data set 0 has " + quoted_keys(keys()));
    }
  }
}

Example ConcatenatedDataset::get(int64_t i) const {
  check_index("ConcatenatedDataset::get", i, size());
  const auto which = std::upper_bound(ends_.begin(), ends_.end(), i) - ends_.begin();
  const int64_t start = which == 0 ? 0 : ends_[static_cast<size_t>(which - 1)];
  return datasets_[static_cast<size_t>(which)]->get(i - start);
}

}  // namespace kusari::datasets
