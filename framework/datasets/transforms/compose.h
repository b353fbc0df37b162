#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/dataset.h"
#include "kusari/framework/datasets/example_random.h"

namespace kusari::datasets::transforms {

/// What makes an image of an image, without and with random numbers: the structs of this folder, Compose, any callable.
template <class T>
concept FixedTransform = requires(const T& transform, const Array& image) {
  { transform(image) } -> std::convertible_to<Array>;
};
template <class T>
concept RandomTransform = requires(const T& transform, const Array& image, ExampleRandom& random) {
  { transform(image, random) } -> std::convertible_to<Array>;
};
template <class T>
concept Transform = FixedTransform<T> || RandomTransform<T>;

/// Transforms one after the other: `Compose augment{Pad{4}, RandomCrop{32}, RandomFlip{}}`. Without a random one among
/// them it is called with the image alone. chainercv.transforms has no such name; torchvision's Compose.
template <Transform... Steps>
class Compose {
 public:
  explicit Compose(Steps... steps) : steps_{std::move(steps)...} {}

  Array operator()(Array image, ExampleRandom& random) const {
    const auto apply = [&](const auto& step) {
      if constexpr (RandomTransform<std::remove_cvref_t<decltype(step)>>) {
        image = step(std::as_const(image), random);
      } else {
        image = step(std::as_const(image));
      }
    };
    std::apply([&](const Steps&... steps) { (apply(steps), ...); }, steps_);
    return image;
  }
  Array operator()(Array image) const requires(FixedTransform<Steps>&&...) {
    std::apply([&](const Steps&... steps) { ((image = steps(std::as_const(image))), ...); }, steps_);
    return image;
  }

 private:
  std::tuple<Steps...> steps_;
};

/// A function for TransformDataset: transforms, one after the other, for component `kComponent` of an example, the
/// first unless told otherwise. `TransformDataset(train, on_image(Pad{4}, RandomCrop{32}, RandomFlip{}))`
template <size_t kComponent = 0, Transform... Steps>
auto on_image(Steps... steps) {
  return [compose = Compose<Steps...>(std::move(steps)...)](const Example& example, ExampleRandom& random) {
    if (example.size() <= kComponent) {
      throw ValueError("transforms::on_image: component " + std::to_string(kComponent) + " of an example that has " +
                       std::to_string(example.size()));
    }
    Example result = example;
    result[kComponent] = compose(example[kComponent], random);
    return result;
  };
}

}  // namespace kusari::datasets::transforms
