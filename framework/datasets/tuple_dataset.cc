#include "kusari/framework/datasets/tuple_dataset.h"

#include <string>
#include <utility>

#include "kusari/framework/core/error.h"

namespace kusari::datasets {

TupleDataset::TupleDataset(Example arrays) : arrays_{std::move(arrays)} {
  if (arrays_.empty()) throw ValueError("TupleDataset: no arrays are given");
  for (size_t i = 0; i < arrays_.size(); ++i) {
    const std::string which = "TupleDataset: array " + std::to_string(i);
    if (!arrays_[i].is_defined()) throw ValueError(which + " is undefined");
    if (arrays_[i].ndim() == 0) throw ValueError(which + " is a scalar: its first axis must count the examples");
    if (arrays_[i].shape()[0] != arrays_[0].shape()[0]) {
      throw ValueError(which + " has shape " + to_string(arrays_[i].shape()) + " but array 0 has shape " +
                       to_string(arrays_[0].shape()) + ": the first axes must be equal");
    }
  }
  size_ = arrays_[0].shape()[0];
}

Example TupleDataset::get(int64_t i) const {
  check_index("TupleDataset::get", i, size_);
  Example example;
  example.reserve(arrays_.size());
  for (const Array& array : arrays_) example.emplace_back(array.at(i));
  return example;
}

}  // namespace kusari::datasets
