#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <kusari/framework/onnx/model.h>
#include <kusari/kusari.h>

// Photos for a classifier in an ONNX file, and what its scores say.

// What the input of such a model takes, as far as the file tells.
struct ImageInput {
  kusari::Dtype dtype = kusari::Dtype::float32;
  bool is_channels_last = false;  // (N, H, W, C), as TensorFlow's models have it; otherwise (N, C, H, W)
  int64_t channels = 3;
  int64_t batch = -1;               // -1: any
  int64_t height = -1, width = -1;  // -1: any
};

// Throws ValueError for an input that is no batch of images.
inline ImageInput image_input(const kusari::onnx::Argument& input) {
  using namespace kusari;
  ImageInput result;
  result.dtype = input.dtype.value_or(Dtype::float32);
  if (!input.shape) return result;
  const std::vector<int64_t>& shape = *input.shape;
  const auto may_be_colours = [&](size_t axis) { return shape[axis] == 1 || shape[axis] == 3; };
  if (shape.size() != 4 || (shape[1] >= 0 && shape[3] >= 0 && !may_be_colours(1) && !may_be_colours(3))) {
    std::string text;
    for (const int64_t size : shape) text += (text.empty() ? "" : ", ") + std::to_string(size);
    throw ValueError("the model's input '" + input.name + "' has shape (" + text +
                     "): it must be (N, C, H, W) or (N, H, W, C), with 1 or 3 channels");
  }
  result.batch = shape[0];
  result.is_channels_last = may_be_colours(3) && !may_be_colours(1);
  const int64_t channels = shape[result.is_channels_last ? 3 : 1];
  if (channels > 0) result.channels = channels;
  result.height = shape[result.is_channels_last ? 1 : 2];
  result.width = shape[result.is_channels_last ? 2 : 3];
  return result;
}

// How a photo becomes an input. Pixels are numbers 0 .. 1 before mean and deviation count; a model that takes bytes
// gets them as they are.
struct Preparation {
  kusari::transforms::Size size{224};
  int64_t shorter = 256;                // the shorter side, before the middle is cut out
  std::vector<double> mean, deviation;  // one number, or one for each channel
};

// The photo at `path`, as the model takes it: (C, H, W) or (H, W, C).
inline kusari::Array prepared_photo(const std::string& path, const ImageInput& input, const Preparation& preparation) {
  using namespace kusari;
  const auto mode = input.channels == 1 ? datasets::ImageMode::grey : datasets::ImageMode::rgb;
  Array image = datasets::read_image(path, {.mode = mode});
  image = transforms::CenterCrop{preparation.size}(transforms::Scale{preparation.shorter}(image));
  if (input.dtype != Dtype::uint8) {
    transforms::Normalize normalize{preparation.mean, preparation.deviation};
    for (double& value : normalize.mean) value *= 255;
    for (double& value : normalize.deviation) value *= 255;
    image = normalize(image).astype(input.dtype);
  }
  return input.is_channels_last ? image.transpose({1, 2, 0}) : image;
}

struct Guess {
  int64_t label;
  double probability;
};

// The likeliest `count` classes of one row of a model's results, which are probabilities already if they are numbers
// 0 .. 1 with the sum 1, and else go through softmax.
inline std::vector<Guess> likeliest(std::span<const float> row, size_t count) {
  std::vector<double> values(row.begin(), row.end());
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  if (values.size() > 1 && (*least < 0 || std::abs(sum - 1) > 1e-2)) {
    const double largest = *most;
    double total = 0;
    for (double& value : values) total += value = std::exp(value - largest);
    for (double& value : values) value /= total;
  }
  std::vector<Guess> guesses;
  for (size_t i = 0; i < values.size(); ++i) guesses.push_back({static_cast<int64_t>(i), values[i]});
  const size_t kept = std::min(count, guesses.size());
  std::partial_sort(guesses.begin(), guesses.begin() + static_cast<ptrdiff_t>(kept), guesses.end(),
                    [](const Guess& a, const Guess& b) { return a.probability > b.probability; });
  guesses.resize(kept);
  return guesses;
}

// The lines of a file: the name of class i is line i.
inline std::vector<std::string> read_labels(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw kusari::IoError("--labels: " + path + " cannot be read");
  std::vector<std::string> labels;
  for (std::string line; std::getline(file, line);) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    labels.push_back(line);
  }
  return labels;
}
