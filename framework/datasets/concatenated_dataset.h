#pragma once

#include <concepts>
#include <cstdint>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/dataset.h"

namespace kusari::datasets {

/// The examples of several data sets, one after the other. Throws ValueError when their keys differ.
/// chainer.datasets.ConcatenatedDataset.
class KUSARI_API ConcatenatedDataset final : public Dataset {
 public:
  explicit ConcatenatedDataset(std::vector<DatasetRef> datasets);

  int64_t size() const override { return ends_.empty() ? 0 : ends_.back(); }
  Example get(int64_t i) const override;
  Keys keys() const override { return datasets_.empty() ? Keys() : datasets_.front()->keys(); }

 private:
  std::vector<DatasetRef> datasets_;
  std::vector<int64_t> ends_;  // index after the last example of each
};

}  // namespace kusari::datasets
