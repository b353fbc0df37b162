#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <kusari/framework/inference/inference_session.h>
#include <kusari/framework/onnx/load.h>
#include <kusari/kusari.h>

#include "kusari/examples/inference/text_boxes.h"

// Reads texts in photos with two networks in ONNX files, as PP-OCR does (Du et al. 2020): a detector, whose result is
// the probability of each pixel to belong to a text, and a recognizer of a line, whose results are probabilities of
// characters for each of many narrow columns, where 0 stands for none.

struct TextReaderOptions {
  std::optional<kusari::Dtype> dtype = {};  // to compute in
  int64_t least_side = 736;                 // photos whose shorter side has fewer pixels are enlarged for the detector
  TextBoxOptions boxes = {};
  double least_score = 0.5;  // mean probability of the characters of a line
};

struct TextLine {
  TextBox box;  // in the photo
  std::string text;
  double score;
};

// What the rows of a recognizer's result say: the likeliest character of each column, once where neighbours agree,
// without blanks, and the mean of their probabilities. probabilities: (columns, characters.size()).
inline std::pair<std::string, double> decode_columns(std::span<const float> probabilities,
                                                     const std::vector<std::string>& characters) {
  std::string text;
  double sum = 0;
  int64_t count = 0;
  size_t before = 0;
  for (size_t at = 0; at + characters.size() <= probabilities.size(); at += characters.size()) {
    const auto column = probabilities.subspan(at, characters.size());
    const auto best = std::max_element(column.begin(), column.end());
    const auto character = static_cast<size_t>(best - column.begin());
    if (character != 0 && character != before) {
      text += characters[character];
      sum += *best;
      ++count;
    }
    before = character;
  }
  return {text, count > 0 ? sum / static_cast<double>(count) : 0};
}

// The part of an image in a box, upright, of the box's size; texts that stand on end are laid down. image: (C, H, W)
inline kusari::Array cut_out(const kusari::Array& image, const TextBox& box) {
  using namespace kusari;
  const int64_t channels = image.shape(0), height = image.shape(1), width = image.shape(2);
  const std::vector<float> pixels = image.transpose({1, 2, 0}).to_vector<float>();
  const int64_t rows = std::max<int64_t>(1, std::llround(box.height()));
  const int64_t columns = std::max<int64_t>(1, std::llround(box.width()));
  const bool stands = static_cast<double>(rows) >= 1.5 * static_cast<double>(columns);
  std::vector<float> cut(static_cast<size_t>(channels * rows * columns));
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      const Point from =
          box.corners[0] +
          ((static_cast<double>(column) + 0.5) / static_cast<double>(columns)) * (box.corners[1] - box.corners[0]) +
          ((static_cast<double>(row) + 0.5) / static_cast<double>(rows)) * (box.corners[3] - box.corners[0]);
      const double x = std::clamp(from.x - 0.5, 0.0, static_cast<double>(width - 1));
      const double y = std::clamp(from.y - 0.5, 0.0, static_cast<double>(height - 1));
      const auto left = static_cast<int64_t>(x), top = static_cast<int64_t>(y);
      const int64_t right = std::min(left + 1, width - 1), bottom = std::min(top + 1, height - 1);
      const double to_right = x - static_cast<double>(left), down = y - static_cast<double>(top);
      // Counterclockwise by a quarter where the text stands
      const int64_t at = stands ? (columns - 1 - column) * rows + row : row * columns + column;
      for (int64_t c = 0; c < channels; ++c) {
        const auto pixel = [&](int64_t v, int64_t u) {
          return static_cast<double>(pixels[static_cast<size_t>((v * width + u) * channels + c)]);
        };
        const double upper = pixel(top, left) * (1 - to_right) + pixel(top, right) * to_right;
        const double lower = pixel(bottom, left) * (1 - to_right) + pixel(bottom, right) * to_right;
        cut[static_cast<size_t>(at * channels + c)] = static_cast<float>(upper * (1 - down) + lower * down);
      }
    }
  }
  return array(cut, stands ? Shape{columns, rows, channels} : Shape{rows, columns, channels}).transpose({2, 0, 1});
}

class TextReader {
 public:
  // characters: those of the recognizer, from 1 on; empty: its file says them.
  TextReader(const std::string& detector, const std::string& recognizer, std::vector<std::string> characters,
             TextReaderOptions options = {})
      : options_{std::move(options)} {
    using namespace kusari;
    onnx::Model detects = onnx::load(detector), reads = onnx::load(recognizer);
    const auto axis = [](const onnx::Model& model, const std::string& path, size_t i) {
      const auto& shape = model.inputs().at(0).shape;
      if (shape && shape->size() == 4) return (*shape)[i];
      throw ValueError(path + ": its input must be photos, (N, 3, H, W)");
    };
    photo_height_ = axis(detects, detector, 2);
    photo_width_ = axis(detects, detector, 3);
    if (axis(reads, recognizer, 2) > 0) line_height_ = axis(reads, recognizer, 2);
    line_width_ = axis(reads, recognizer, 3);
    const auto& metadata = reads.metadata();
    if (characters.empty() && metadata.contains("character")) {
      std::istringstream lines(metadata.at("character"));
      for (std::string line; std::getline(lines, line);) characters.push_back(line);
    }
    if (characters.empty()) throw ValueError(recognizer + " does not say which characters it knows: give them");
    characters_ = std::move(characters);
    characters_.insert(characters_.begin(), "");
    characters_.emplace_back(" ");
    detect_.emplace(std::move(detects), InferenceSessionOptions{.name = "detector", .dtype = options_.dtype});
    recognize_.emplace(std::move(reads), InferenceSessionOptions{.name = "recognizer", .dtype = options_.dtype});
  }

  // The texts of a photo (3, H, W), RGB, values 0 .. 255, from top to bottom.
  std::vector<TextLine> read(const kusari::Array& photo) const {
    std::vector<TextLine> lines;
    for (const TextBox& box : find(photo)) {
      auto [text, score] = read_line(cut_out(photo, box));
      if (!text.empty() && score >= options_.least_score) lines.push_back({box, std::move(text), score});
    }
    return lines;
  }

 private:
  // These networks know photos as OpenCV reads them, BGR, with values -1 .. 1.
  static kusari::Array prepared(const kusari::Array& image) {
    using namespace kusari;
    const Array scaled = transforms::Normalize{{127.5}, {127.5}}(image);
    return F::flip(Variable(scaled, false), 0).array();
  }

  std::vector<TextBox> find(const kusari::Array& photo) const {
    using namespace kusari;
    const double height = static_cast<double>(photo.shape(1)), width = static_cast<double>(photo.shape(2));
    const double ratio = std::max(1.0, static_cast<double>(options_.least_side) / std::min(height, width));
    const auto side = [&](int64_t fixed, double size) {
      return fixed > 0 ? fixed : std::max<int64_t>(32, 32 * std::llround(size * ratio / 32));
    };
    const transforms::Size size{side(photo_height_, height), side(photo_width_, width)};
    const Array x = prepared(transforms::Resize{size}(photo));
    const Array map = detect_->run({x.reshape({1, 3, size.height, size.width})})[0];
    if (map.size() % size.width != 0 || map.shape(map.ndim() - 1) != size.width) {
      throw ValueError("the detector gives " + to_string(map.shape()) + ": it must be (1, 1, H, W)");
    }
    std::vector<TextBox> boxes = find_text_boxes(map.to_vector<float>(), size.width, options_.boxes);
    for (TextBox& box : boxes) {
      for (Point& corner : box.corners) {
        corner.x *= width / static_cast<double>(size.width);
        corner.y *= height / static_cast<double>(size.height);
      }
    }
    return boxes;
  }

  std::pair<std::string, double> read_line(const kusari::Array& line) const {
    using namespace kusari;
    constexpr int64_t kSteps = 160;  // lines are so many pixels long, or twice as many, ..: few kinds of calls
    const double ratio = static_cast<double>(line.shape(2)) / static_cast<double>(line.shape(1));
    const int64_t needed = std::max<int64_t>(1, std::llround(ratio * static_cast<double>(line_height_)));
    const int64_t length =
        line_width_ > 0 ? line_width_ : std::max<int64_t>(2, (needed + kSteps - 1) / kSteps) * kSteps;
    const int64_t width = std::min(needed, length);
    const Array x = zeros({1, 3, line_height_, length});
    const Array pixels = prepared(transforms::Resize{{line_height_, width}}(line));
    x.slice(3, 0, width).copy_from(pixels.reshape({1, 3, line_height_, width}));
    const Array result = recognize_->run({x})[0];
    if (result.ndim() != 3 || result.shape(2) != static_cast<int64_t>(characters_.size())) {
      throw ValueError("the recognizer gives " + to_string(result.shape()) + ": it must be (1, columns, " +
                       std::to_string(characters_.size()) + "), one number for each character");
    }
    return decode_columns(result.to_vector<float>(), characters_);
  }

  TextReaderOptions options_;
  int64_t photo_height_ = -1, photo_width_ = -1, line_height_ = 48, line_width_ = -1;  // -1: any
  std::vector<std::string> characters_;                                                // 0: none
  std::optional<kusari::InferenceSession> detect_, recognize_;
};
