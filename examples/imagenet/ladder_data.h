#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/imagenet/images.h"
#include "kusari/examples/imagenet/ladder_steps.h"

// Of the channels over ImageNet, in units of the pixels.
inline const kusari::transforms::Normalize kImageNet{{123.7, 116.3, 103.5}, {58.4, 57.1, 57.4}};

// Squares of noise with random labels, made once: the input of a training without disk and decoder.
inline kusari::datasets::TupleDataset random_images(int64_t count, int64_t side, int64_t classes) {
  using namespace kusari;
  datasets::ExampleRandom random(0);
  const auto area = static_cast<size_t>(side * side);
  std::vector<uint8_t> pixels(static_cast<size_t>(count) * area * 3);
  for (size_t i = 0; i < pixels.size(); i += 8) {
    uint64_t bits = random.bits();
    for (size_t k = i; k < std::min(i + 8, pixels.size()); ++k, bits >>= 8) pixels[k] = static_cast<uint8_t>(bits);
  }
  std::vector<int32_t> labels(static_cast<size_t>(count));
  for (auto& label : labels) label = static_cast<int32_t>(random.integer(classes));
  // Channels innermost in memory, as readers give them.
  return datasets::TupleDataset(array(pixels, {count, side, side, 3}).transpose({0, 3, 1, 2}), array(labels));
}

// The images that all steps train on, squares of 8/7 of the network's side: random ones, or those of a folder, an
// archive or a list.
inline kusari::datasets::DatasetRef open_squares(const std::string& path, const std::string& root, int64_t side,
                                                 int64_t batch_size) {
  using namespace kusari;
  const int64_t square_side = side * 8 / 7;
  if (path.empty()) return random_images(4 * batch_size, square_side, 1000);
  return datasets::TransformDataset(open_images(path, root, square_side).dataset,
                                    [=](const datasets::Example& example) {
                                      return datasets::Example{square(example[0], square_side), example[1]};
                                    });
}

// (image - mean) / deviation by plain arithmetic in config.dtype, as a program that follows config.dtype everywhere has
// it.
struct NormalizeInConfigDtype {
  kusari::Array mean, deviation;

  explicit NormalizeInConfigDtype(const kusari::transforms::Normalize& n)
      : mean{kusari::array(n.mean, {3, 1, 1}).astype(kusari::get_dtype())},
        deviation{kusari::array(n.deviation, {3, 1, 1}).astype(kusari::get_dtype())} {}

  kusari::Array operator()(const kusari::Array& image) const {
    using kusari::Variable;
    const auto mode = kusari::no_backprop_mode();
    const Variable x(image.astype(kusari::get_dtype()), false);
    return ((x - Variable(mean, false)) / Variable(deviation, false)).array();
  }
};

// What the iterator of a step takes its examples from: a random window of an image, mirrored half of the time, as
// numbers; or as bytes, where the converter mirrors and makes numbers of whole batches.
inline kusari::datasets::TransformDataset preprocessed(const kusari::datasets::DatasetRef& images, int64_t side,
                                                       Preprocessing preprocessing) {
  using namespace kusari;
  const transforms::RandomCrop crop{side};
  switch (preprocessing) {
    case Preprocessing::config_dtype:
      return {images, transforms::on_image(crop, transforms::RandomFlip{}, NormalizeInConfigDtype(kImageNet))};
    case Preprocessing::float32:
      return {images, transforms::on_image(crop, transforms::RandomFlip{}, kImageNet)};
    case Preprocessing::converter:
      break;
  }
  return {images, transforms::on_image(crop)};
}
