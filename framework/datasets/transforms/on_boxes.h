#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/dataset.h"
#include "kusari/framework/datasets/transforms/bbox.h"
#include "kusari/framework/datasets/transforms/compose.h"
#include "kusari/framework/datasets/transforms/crop.h"
#include "kusari/framework/datasets/transforms/flip.h"
#include "kusari/framework/datasets/transforms/random_sized_crop.h"
#include "kusari/framework/datasets/transforms/resize.h"

namespace kusari::datasets::transforms {

namespace detail {

/// A transform that moves boxes itself, with random numbers and without.
template <class Step>
concept MovesBoxesAtRandom = requires(const Step& step, const BoxedImage& boxed, ExampleRandom& random) {
  { step(boxed, random) } -> std::convertible_to<BoxedImage>;
};
template <class Step>
concept MovesBoxes = requires(const Step& step, const BoxedImage& boxed) {
  { step(boxed) } -> std::convertible_to<BoxedImage>;
};

KUSARI_API BoxedImage apply_with_boxes(const Flip& step, const BoxedImage& boxed, ExampleRandom& random);
KUSARI_API BoxedImage apply_with_boxes(const RandomFlip& step, const BoxedImage& boxed, ExampleRandom& random);
KUSARI_API BoxedImage apply_with_boxes(const Resize& step, const BoxedImage& boxed, ExampleRandom& random);
KUSARI_API BoxedImage apply_with_boxes(const Scale& step, const BoxedImage& boxed, ExampleRandom& random);
KUSARI_API BoxedImage apply_with_boxes(const Crop& step, const BoxedImage& boxed, ExampleRandom& random);
KUSARI_API BoxedImage apply_with_boxes(const CenterCrop& step, const BoxedImage& boxed, ExampleRandom& random);
KUSARI_API BoxedImage apply_with_boxes(const RandomCrop& step, const BoxedImage& boxed, ExampleRandom& random);
KUSARI_API BoxedImage apply_with_boxes(const RandomSizedCrop& step, const BoxedImage& boxed, ExampleRandom& random);
/// The image of another transform, whose boxes stay. Throws TypeError when its size has changed.
KUSARI_API BoxedImage with_image(const BoxedImage& boxed, Array image);

template <class Step>
BoxedImage step_with_boxes(const Step& step, const BoxedImage& boxed, ExampleRandom& random) {
  if constexpr (MovesBoxesAtRandom<Step>) {
    return step(boxed, random);
  } else if constexpr (MovesBoxes<Step>) {
    return step(boxed);
  } else if constexpr (requires { apply_with_boxes(step, boxed, random); }) {
    return apply_with_boxes(step, boxed, random);
  } else if constexpr (RandomTransform<Step>) {
    return with_image(boxed, step(boxed.image, random));
  } else {
    return with_image(boxed, step(boxed.image));
  }
}

/// The image and boxes of an example (image, bbox, ...).
KUSARI_API BoxedImage boxed_of(const Example& example);
/// The example with another image and boxes: of the components after bbox the rows of the boxes that are left.
KUSARI_API Example example_of(const Example& example, const BoxedImage& boxed);

}  // namespace detail

/// A function for TransformDataset that transforms images with their boxes: transforms, one after the other, for
/// examples (image, bbox, label, ...), in which each component after bbox has a row for each box. Both are moved by the
/// same random numbers, and boxes of which nothing is left lose their rows. Steps may be RandomExpand, RandomBoxCrop,
/// ResizeContain, Resize, Scale, Flip, RandomFlip and the crops; others change pixels where they are (RandomDistort,
/// PCALighting), and get() throws TypeError if they change the size.
/// `TransformDataset(train, on_boxes(RandomDistort{}, RandomBoxCrop{}, Resize{300}, RandomFlip{}))`
template <class... Steps>
auto on_boxes(Steps... steps) {
  return [steps = std::tuple<Steps...>(std::move(steps)...)](const Example& example, ExampleRandom& random) {
    BoxedImage boxed = detail::boxed_of(example);
    std::apply([&](const Steps&... each) { ((boxed = detail::step_with_boxes(each, boxed, random)), ...); }, steps);
    return detail::example_of(example, boxed);
  };
}

}  // namespace kusari::datasets::transforms
