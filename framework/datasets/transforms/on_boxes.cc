#include "kusari/framework/datasets/transforms/on_boxes.h"

namespace kusari::datasets::transforms::detail {
namespace {

const char* const kOnBoxes = "transforms::on_boxes";

BoxedImage resized(const BoxedImage& boxed, const Array& image) {
  return {image, resize_bbox(boxed.bbox, size_of(boxed.image), size_of(image)), boxed.index};
}

}  // namespace

BoxedImage apply_with_boxes(const Flip& step, const BoxedImage& boxed, ExampleRandom&) {
  return {step(boxed.image), flip_bbox(boxed.bbox, size_of(boxed.image), step), boxed.index};
}

BoxedImage apply_with_boxes(const RandomFlip& step, const BoxedImage& boxed, ExampleRandom& random) {
  const bool along_x = step.horizontal && random.chance(0.5);
  const bool along_y = step.vertical && random.chance(0.5);
  return apply_with_boxes(Flip{along_x, along_y}, boxed, random);
}

BoxedImage apply_with_boxes(const Resize& step, const BoxedImage& boxed, ExampleRandom&) {
  return resized(boxed, step(boxed.image));
}

BoxedImage apply_with_boxes(const Scale& step, const BoxedImage& boxed, ExampleRandom&) {
  return resized(boxed, step(boxed.image));
}

BoxedImage apply_with_boxes(const Crop& step, const BoxedImage& boxed, ExampleRandom&) {
  return crop_boxed(boxed, step.window, true);
}

BoxedImage apply_with_boxes(const CenterCrop& step, const BoxedImage& boxed, ExampleRandom&) {
  return crop_boxed(boxed, step.window(boxed.image), true);
}

BoxedImage apply_with_boxes(const RandomCrop& step, const BoxedImage& boxed, ExampleRandom& random) {
  return crop_boxed(boxed, step.window(boxed.image, random), true);
}

BoxedImage apply_with_boxes(const RandomSizedCrop& step, const BoxedImage& boxed, ExampleRandom& random) {
  const BoxedImage cropped = crop_boxed(boxed, step.window(size_of(boxed.image), random), true);
  return resized(cropped, Resize{step.size, step.interpolation}(cropped.image));
}

BoxedImage with_image(const BoxedImage& boxed, Array image) {
  check_image(kOnBoxes, image);
  if (!(size_of(image) == size_of(boxed.image))) {
    throw TypeError(std::string(kOnBoxes) + ": a transform made an image of " + to_string(size_of(image)) +
                    " of one of " + to_string(size_of(boxed.image)) + ", but does not say where the boxes are then");
  }
  return {std::move(image), boxed.bbox, boxed.index};
}

BoxedImage boxed_of(const Example& example) {
  if (example.size() < 2) {
    throw ValueError(std::string(kOnBoxes) + ": an example has " + std::to_string(example.size()) +
                     " components: it must be (image, bbox, ...)");
  }
  check_image(kOnBoxes, example[0]);
  BoxedImage boxed{example[0], boxes_of(example[1]), {}};
  const auto count = static_cast<int64_t>(boxed.bbox.size());
  for (int64_t i = 0; i < count; ++i) boxed.index.push_back(i);
  for (size_t k = 2; k < example.size(); ++k) {
    if (example[k].is_defined() && example[k].ndim() >= 1 && example[k].shape(0) == count) continue;
    throw ValueError(std::string(kOnBoxes) + ": component " + std::to_string(k) + " of an example with " +
                     std::to_string(count) + " boxes has shape " +
                     (example[k].is_defined() ? to_string(example[k].shape()) : std::string("()")) +
                     ": it must have a row for each");
  }
  return boxed;
}

Example example_of(const Example& example, const BoxedImage& boxed) {
  Example result;
  result.push_back(boxed.image);
  result.push_back(bbox_array(boxed.bbox));
  const auto count = static_cast<int64_t>(boxed.index.size());
  for (size_t k = 2; k < example.size(); ++k) {
    Shape shape = example[k].shape();
    shape[0] = count;
    const Array rows = empty(shape, example[k].dtype());
    for (int64_t i = 0; i < count; ++i)
      rows.slice(0, i, 1).copy_from(example[k].slice(0, boxed.index[static_cast<size_t>(i)], 1));
    result.push_back(rows);
  }
  return result;
}

}  // namespace kusari::datasets::transforms::detail
