#include "kusari/framework/datasets/transform_dataset.h"

#include <utility>

#include "kusari/framework/core/error.h"

namespace kusari::datasets {

TransformDataset::TransformDataset(DatasetRef dataset, std::function<Example(const Example&)> transform)
    : dataset_{std::move(dataset)}, transform_{std::move(transform)} {
  if (!transform_) throw ValueError("TransformDataset: the transform is empty");
}

TransformDataset::TransformDataset(RandomTransform transform, DatasetRef dataset)
    : dataset_{std::move(dataset)}, random_transform_{std::move(transform)} {
  if (!random_transform_) throw ValueError("TransformDataset: the transform is empty");
}

Example TransformDataset::get(int64_t i) const {
  check_index("TransformDataset::get", i, size());
  if (transform_) return transform_(dataset_->get(i));
  ExampleRandom random = ExampleRandomScope::stream(i);
  return random_transform_(dataset_->get(i), random);
}

}  // namespace kusari::datasets
