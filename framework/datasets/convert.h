#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/device.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/dataset.h"

namespace kusari::datasets {

/// What fills up arrays of different shapes: nothing (they must be equal), one value for all components, or one per
/// component.
class KUSARI_API Padding {
 public:
  Padding() = default;
  template <class T>
  requires std::is_arithmetic_v<T> Padding(T value) : all_{Scalar(value)} {}
  /// One for each component; none: those are stacked as they are.
  Padding(std::vector<std::optional<Scalar>> values) : values_{std::move(values)} {}
  /// By the names of a data set's components: `Padding(train.keys(), {{"words", -1}})`. Those that are not named get
  /// none. Throws KeyError for a name that is no key.
  Padding(const Keys& keys, std::initializer_list<std::pair<std::string, Scalar>> values);
  std::optional<Scalar> of(size_t component) const { return component < values_.size() ? values_[component] : all_; }

 private:
  std::optional<Scalar> all_;
  std::vector<std::optional<Scalar>> values_;
};

/// Makes a batch of examples: one array per component, whose first axis counts the examples. In two steps, so that an
/// updater may begin the first for later batches while the device works: `upload` collects the examples and sends them,
/// without computing there; `finish` computes on the device. Empty (false) until it is given what to do.
class KUSARI_API Converter {
 public:
  using Upload = Callable<Example(std::span<const Example> batch, const Device& device)>;
  using Finish = Callable<Example(Example uploaded)>;

  Converter() = default;
  /// Any function of a batch and a device: all of it happens in upload.
  template <class Function>
  requires(!std::same_as<Function, Converter> &&
           std::is_invocable_r_v<Example, Function&, std::span<const Example>, const Device&>)
      Converter(Function convert)
      : upload_{std::move(convert)} {}
  /// What `upload` gives is what `finish` gets; it may hold more arrays than the batch in the end.
  Converter(Upload upload, Finish finish) : upload_{std::move(upload)}, finish_{std::move(finish)} {}

  explicit operator bool() const noexcept { return static_cast<bool>(upload_); }
  Example operator()(std::span<const Example> batch, const Device& device) const {
    return finish(upload(batch, device));
  }
  /// Whether computing on the device is left to finish. Where not, upload must not run inside a DeferredCopies.
  bool has_finish() const noexcept { return static_cast<bool>(finish_); }
  /// Throws StateError when the converter is empty, as the call does.
  Example upload(std::span<const Example> batch, const Device& device) const;
  Example finish(Example uploaded) const;

 private:
  Upload upload_;
  Finish finish_;  // empty: nothing is left to do
};

/// Stacks the examples of a batch, component by component, where they lie, and copies the result to `device` once;
/// without a device it stays there. Floating arrays become config().dtype; integers (labels, indices, pixels) keep
/// their dtype. With a padding, arrays of one component may have different sizes: each becomes as large as the largest
/// in the batch, its elements first. Returns arrays of shape (batch, ...), new ones unless the batch lies together
/// already (collated). Images (C, H, W) whose memory is (H, W, C), as readers and transforms give them, become a batch
/// with the channels innermost, the first example deciding for all. Throws ValueError for an empty batch, TypeError,
/// naming the example and the component, where numbers of components, dtypes, numbers of axes, or (without a padding)
/// shapes differ. chainer.dataset.concat_examples.
KUSARI_API Example concat_examples(std::span<const Example> batch, const std::optional<Device>& device = std::nullopt,
                                   const Padding& padding = {});

/// The arrays on a device; as they are without one. chainer.dataset.to_device.
KUSARI_API Example to_device(const std::optional<Device>& device, Example arrays);

/// concat_examples as a converter: floating arrays are sent as they are and become config().dtype on the device.
KUSARI_API Converter concat_converter(Padding padding = {});

}  // namespace kusari::datasets
