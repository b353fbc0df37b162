#pragma once

#include <cstdint>

#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/dataset.h"

namespace kusari::distributed {

/// As many examples as another data set has, each of no components: for ranks of a model that take no inputs of their
/// own, but what other ranks send. Their batches are as many as there, and the model is called with nothing.
class KUSARI_API EmptyDataset final : public datasets::Dataset {
 public:
  explicit EmptyDataset(int64_t size);
  int64_t size() const override { return size_; }
  datasets::Example get(int64_t i) const override;

 private:
  int64_t size_;
};

/// chainermn.datasets.create_empty_dataset.
inline EmptyDataset create_empty_dataset(const datasets::Dataset& dataset) { return EmptyDataset(dataset.size()); }

}  // namespace kusari::distributed
