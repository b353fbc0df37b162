#include "kusari/framework/datasets/transform_dataset.h"

#include <utility>

#include "kusari/framework/core/error.h"

namespace kusari::datasets {

TransformDataset::TransformDataset(DatasetRef dataset, std::function<Example(const Example&)> transform)
    : dataset_{std::move(dataset)}, transform_{std::move(transform)} {
  if (!transform_) throw ValueError("TransformDataset: the transform is empty");
}

Example TransformDataset::get(int64_t i) const {
  check_index("TransformDataset::get", i, size());
  return transform_(dataset_->get(i));
}

}  // namespace kusari::datasets
