#pragma once

// The mean image, and images as it wants them.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/imagenet/images.h"

inline kusari::Array load_mean(const std::string& path) {
  using namespace kusari;
  if (!std::filesystem::exists(path)) {
    throw IoError("there is no mean image " + path + ": compute it with compute_mean, or name it with --mean");
  }
  const Array mean = serializers::load_npy(path);
  if (mean.ndim() != 3 || mean.shape(0) != 3 || mean.shape(1) != mean.shape(2)) {
    throw ValueError(path + " has shape " + to_string(mean.shape()) + ": a mean image is (3, side, side)");
  }
  return mean;
}

// The mean of each channel. Chainer's example subtracts that of each pixel; this lets images go to the device as bytes.
inline std::vector<double> channel_means(const kusari::Array& mean) {
  const auto pixels = mean.to_vector<double>();
  const auto area = static_cast<std::ptrdiff_t>(pixels.size() / 3);
  std::vector<double> means;
  for (auto begin = pixels.begin(); begin != pixels.end(); begin += area) {
    means.push_back(std::accumulate(begin, begin + area, 0.0) / static_cast<double>(area));
  }
  return means;
}

// Images as bytes, scaled to the size of the mean image and cropped: a random place, or the middle.
inline kusari::datasets::TransformDataset cropped(const Images& images, int64_t side, int64_t crop_size,
                                                  bool is_random) {
  using namespace kusari;
  return {images.dataset, [=](const datasets::Example& example, datasets::ExampleRandom& random) {
            const Array image = square(example[0], side);
            return datasets::Example{
                is_random ? transforms::RandomCrop{crop_size}(image, random) : transforms::CenterCrop{crop_size}(image),
                example[1]};
          }};
}
