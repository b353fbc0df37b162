#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/dataset.h"

namespace kusari::datasets {

/// Whole arrays side by side: example i is row i of each, a view without a copy.
/// Every array has the examples along its first axis; throws ValueError when the lengths differ or there is no array.
/// chainer.datasets.TupleDataset.
class KUSARI_API TupleDataset final : public Dataset {
 public:
  template <std::same_as<Array>... Arrays>
  explicit TupleDataset(const Array& first, const Arrays&... rest) : TupleDataset(Example{first, rest...}) {}
  explicit TupleDataset(Example arrays);

  int64_t size() const override { return size_; }
  Example get(int64_t i) const override;
  /// The whole arrays.
  const Example& arrays() const noexcept { return arrays_; }

 private:
  Example arrays_;
  int64_t size_ = 0;
};

/// What the readers of public data sets give: `auto [train, test] = get_mnist();`
struct TrainTest {
  TupleDataset train;
  TupleDataset test;
};

}  // namespace kusari::datasets
