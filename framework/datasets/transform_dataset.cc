#include "kusari/framework/datasets/transform_dataset.h"

#include <string>
#include <utility>

#include "kusari/framework/core/error.h"

namespace kusari::datasets {

TransformDataset::TransformDataset(DatasetRef dataset, Callable<Example(const Example&)> transform,
                                   std::optional<Keys> keys)
    : dataset_{std::move(dataset)},
      keys_{keys ? std::move(*keys) : dataset_->keys()},
      transform_{std::move(transform)} {
  if (!transform_) throw ValueError("TransformDataset: the transform is empty");
}

TransformDataset::TransformDataset(RandomTransform transform, DatasetRef dataset, std::optional<Keys> keys)
    : dataset_{std::move(dataset)},
      keys_{keys ? std::move(*keys) : dataset_->keys()},
      random_transform_{std::move(transform)} {
  if (!random_transform_) throw ValueError("TransformDataset: the transform is empty");
}

Example TransformDataset::get(int64_t i) const {
  check_index("TransformDataset::get", i, size());
  Example example;
  if (transform_) {
    example = transform_(dataset_->get(i));
  } else {
    ExampleRandom random = ExampleRandomScope::stream(i);
    example = random_transform_(dataset_->get(i), random);
  }
  if (!keys_.empty() && example.size() != keys_.size()) {
    throw ValueError("TransformDataset::get: the transform gave " + std::to_string(example.size()) +
                     " components, but there are " + std::to_string(keys_.size()) +
                     " keys: give TransformDataset those of what it gives");
  }
  return example;
}

}  // namespace kusari::datasets
