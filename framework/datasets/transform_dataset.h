#pragma once

#include <cstdint>
#include <functional>

#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/dataset.h"

namespace kusari::datasets {

/// The examples of a data set, each passed through a function whenever it is asked for; a random function gives another
/// result every time. `transform` must allow calls from several threads at once.
/// chainer.datasets.TransformDataset.
class KUSARI_API TransformDataset final : public Dataset {
 public:
  TransformDataset(DatasetRef dataset, std::function<Example(const Example&)> transform);

  int64_t size() const override { return dataset_->size(); }
  Example get(int64_t i) const override;

 private:
  DatasetRef dataset_;
  std::function<Example(const Example&)> transform_;
};

}  // namespace kusari::datasets
