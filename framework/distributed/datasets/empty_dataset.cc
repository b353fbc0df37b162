#include "kusari/framework/distributed/datasets/empty_dataset.h"

#include "kusari/framework/core/argument.h"

namespace kusari::distributed {

EmptyDataset::EmptyDataset(int64_t size) : size_{argument::not_negative("EmptyDataset", "size", size)} {}

datasets::Example EmptyDataset::get(int64_t i) const {
  check_index("EmptyDataset::get", i, size_);
  return {};
}

}  // namespace kusari::distributed
