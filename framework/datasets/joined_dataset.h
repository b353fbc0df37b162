#pragma once

#include <cstdint>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/dataset.h"

namespace kusari::datasets {

/// Data sets side by side: example i has the components of example i of each, one after the other. Throws ValueError
/// when there is none, when their sizes differ, and when some have keys and some not or a key comes twice.
/// chainer.datasets.TupleDataset and DictDataset of data sets.
class KUSARI_API JoinedDataset final : public Dataset {
 public:
  explicit JoinedDataset(std::vector<DatasetRef> datasets);

  int64_t size() const override { return datasets_.front()->size(); }
  Example get(int64_t i) const override;
  Keys keys() const override { return keys_; }

 private:
  std::vector<DatasetRef> datasets_;
  Keys keys_;
};

}  // namespace kusari::datasets
