#pragma once

#include <concepts>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/convert.h"
#include "kusari/framework/datasets/transforms/normalize.h"

namespace kusari::datasets {

struct ImageConverterOptions {
  std::vector<double> mean = {0.0};       ///< in units of the pixels; one number, or one for each channel
  std::vector<double> deviation = {1.0};  ///< the same; not 0
  bool random_flip = false;               ///< mirror each example left to right, all of its images, half of the time
  Padding padding = {};                   ///< for components of different sizes, as concat_examples takes it
};

/// A converter for data sets of 8-bit images: they are collected and sent as bytes, a quarter of the memory of float32,
/// and made numbers on the device. Works as concat_examples; then every component of uint8 images (batch, C, H, W)
/// becomes (x - mean[c]) * (1 / deviation[c]), of config().dtype, channels innermost in memory. Other components are
/// left alone. Mirroring draws from ExampleRandomScope::stream(i) for example i of the batch; two images of one example
/// are mirrored alike. Throws ValueError for a deviation of 0, and for numbers of another count than the channels when
/// a batch is made.
/// `StandardUpdater(iterator, optimizer, {.converter = image_converter({.deviation = {255}})})`
KUSARI_API Converter image_converter(ImageConverterOptions options = {});

/// The same with the mean and the deviation of transforms::Normalize.
template <std::same_as<transforms::Normalize> Normalize>
Converter image_converter(const Normalize& normalize) {
  return image_converter(ImageConverterOptions{.mean = normalize.mean, .deviation = normalize.deviation});
}

}  // namespace kusari::datasets
