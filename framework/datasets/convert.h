#pragma once

#include <functional>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/device.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/dataset.h"

namespace kusari::datasets {

/// What fills up arrays of different shapes: nothing (they must be equal), one value for all components, or one per
/// component.
class Padding {
 public:
  Padding() = default;
  template <class T>
  requires std::is_arithmetic_v<T> Padding(T value) : all_{Scalar(value)} {}
  Padding(std::vector<std::optional<Scalar>> values) : values_{std::move(values)} {}
  std::optional<Scalar> of(size_t component) const { return component < values_.size() ? values_[component] : all_; }

 private:
  std::optional<Scalar> all_;
  std::vector<std::optional<Scalar>> values_;
};

/// Makes a batch of examples: one array per component, whose first axis counts the examples.
using Converter = std::function<Example(std::span<const Example> batch, const Device& device)>;

/// Stacks the examples of a batch, component by component, on the CPU and copies the result to `device` once.
/// Floating arrays become config().dtype there; integers (labels, indices, pixels) keep their dtype.
/// With a padding, arrays of one component may have different sizes: each becomes as large as the largest in the batch,
/// its elements first. Returns new arrays of shape (batch, ...). Images (C, H, W) whose memory is (H, W, C), as readers
/// and transforms give them, become a batch with the channels innermost, the first example deciding for all.
/// Throws ValueError for an empty batch, TypeError, naming the example and the component, where numbers of components,
/// dtypes, or (without a padding) shapes differ. chainer.dataset.concat_examples.
KUSARI_API Example concat_examples(std::span<const Example> batch, const Device& device = Device(),
                                   const Padding& padding = {});

}  // namespace kusari::datasets
