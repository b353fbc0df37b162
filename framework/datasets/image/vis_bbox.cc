#include "kusari/framework/datasets/image/vis_bbox.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/image/bitmap_font.h"
#include "kusari/framework/datasets/transforms/image.h"

namespace kusari::datasets {
namespace {

/// An RGB picture in rows of pixels that is drawn on.
class Picture {
 public:
  Picture(const char* call, const Array& image) {
    if (!image.is_defined()) throw TypeError(std::string(call) + ": image is an undefined array");
    const std::string prefix = std::string(call) + ": image has ";
    if (image.dtype() != Dtype::uint8 && !image.is_floating()) {
      throw TypeError(prefix + "dtype " + name(image.dtype()) + ": it must be uint8 or floating");
    }
    const bool is_plane = image.ndim() == 2;
    if (!is_plane && !(image.ndim() == 3 && (image.shape(0) == 1 || image.shape(0) == 3))) {
      throw ValueError(prefix + "shape " + to_string(image.shape()) + ": it must be (3, H, W), (1, H, W) or (H, W)");
    }
    const Array planes = is_plane ? image.expand_dims(0) : image;
    height = planes.shape(1);
    width = planes.shape(2);
    const std::vector<float> values = planes.to_vector<float>();
    const auto size = static_cast<size_t>(height * width);
    pixels_.resize(size);
    for (size_t i = 0; i < size; ++i) {
      for (size_t c = 0; c < 3; ++c) {
        const float value = values[planes.shape(0) == 1 ? i : c * size + i];
        pixels_[i][c] =
            std::isnan(value) ? uint8_t{0} : static_cast<uint8_t>(std::lround(std::clamp(value, 0.F, 255.F)));
      }
    }
  }

  /// A part of the rectangle [top, bottom) x [left, right) may lie outside.
  void fill(int64_t top, int64_t left, int64_t bottom, int64_t right, const Rgb& color) {
    for (int64_t y = std::max<int64_t>(top, 0); y < std::min(bottom, height); ++y) {
      for (int64_t x = std::max<int64_t>(left, 0); x < std::min(right, width); ++x) at(y, x) = color;
    }
  }

  void frame(int64_t top, int64_t left, int64_t bottom, int64_t right, int64_t line, const Rgb& color) {
    fill(top, left, std::min(top + line, bottom), right, color);
    fill(std::max(bottom - line, top), left, bottom, right, color);
    fill(top, left, bottom, std::min(left + line, right), color);
    fill(top, std::max(right - line, left), bottom, right, color);
  }

  void write(int64_t top, int64_t left, const std::string& text, int64_t scale, const Rgb& color) {
    for (const char c : text) {
      for (int64_t column = 0; column < detail::kGlyphWidth; ++column) {
        const uint8_t bits = detail::glyph_of(c)[static_cast<size_t>(column)];
        for (int64_t row = 0; row < detail::kGlyphHeight; ++row) {
          if ((bits >> row & 1) == 0) continue;
          const int64_t y = top + row * scale, x = left + column * scale;
          fill(y, x, y + scale, x + scale, color);
        }
      }
      left += (detail::kGlyphWidth + 1) * scale;
    }
  }

  Rgb& at(int64_t y, int64_t x) { return pixels_[static_cast<size_t>(y * width + x)]; }

  Array array() const {
    const Array image = transforms::empty_image(3, {height, width}, Dtype::uint8);
    uint8_t* to = image.data<uint8_t>();
    for (const Rgb& pixel : pixels_) to = std::copy(pixel.begin(), pixel.end(), to);
    return image;
  }

  int64_t height, width;

 private:
  std::vector<Rgb> pixels_;
};

/// A pixel's place; far outside for what is not finite or beyond any image.
int64_t pixel_of(float place) {
  constexpr float kFar = 1e9F;
  return std::isnan(place) ? 0 : std::lround(std::clamp(place, -kFar, kFar));
}

bool is_bright(const Rgb& color) { return 299 * color[0] + 587 * color[1] + 114 * color[2] > 140000; }

std::string caption_of(size_t i, std::span<const int32_t> label, std::span<const float> score,
                       const std::vector<std::string>& names) {
  std::string caption;
  if (!label.empty()) {
    caption = names.empty() ? std::to_string(label[i]) : names[static_cast<size_t>(label[i])];
  }
  if (!score.empty()) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", static_cast<double>(score[i]));
    caption += (caption.empty() ? "" : ": ") + std::string(text);
  }
  return caption;
}

}  // namespace

Rgb voc_colormap(int64_t label) {
  Rgb color = {0, 0, 0};
  const auto bits = static_cast<unsigned>(((label % 256) + 256) % 256);
  for (unsigned i = 0; i < 8; ++i) {
    for (unsigned c = 0; c < 3; ++c) {
      if (3 * i + c < 8) color[c] = static_cast<uint8_t>(color[c] | (bits >> (3 * i + c) & 1) << (7 - i));
    }
  }
  return color;
}

Array vis_bbox(const Array& image, std::span<const Box> bbox, std::span<const int32_t> label,
               std::span<const float> score, const VisBboxOptions& options) {
  const char* const call = "vis_bbox";
  Picture picture(call, image);
  for (const auto& [list, length] : {std::pair{"label", label.size()}, std::pair{"score", score.size()}}) {
    if (length == 0 || length == bbox.size()) continue;
    throw ValueError(std::string(call) + ": " + list + " has " + std::to_string(length) + " numbers for " +
                     std::to_string(bbox.size()) + " boxes: there must be as many, or none");
  }
  for (const int32_t l : label) {
    if (l >= 0 && (options.label_names.empty() || static_cast<size_t>(l) < options.label_names.size())) continue;
    throw ValueError(std::string(call) + ": label has " + std::to_string(l) +
                     ": it must not be negative, and less than " + "the number of label_names");
  }
  argument::require(options.line_width >= 0 && options.line_width <= 1000, call, "line_width", options.line_width,
                    "be in [0, 1000]");
  argument::require(options.text_scale >= 0 && options.text_scale <= 1000, call, "text_scale", options.text_scale,
                    "be in [0, 1000]");
  const int64_t side = std::min(picture.height, picture.width);
  const int64_t line = options.line_width > 0 ? options.line_width : std::max<int64_t>(1, side / 200);
  const int64_t scale = options.text_scale > 0 ? options.text_scale : std::max<int64_t>(1, side / 350);

  for (size_t i = 0; i < bbox.size(); ++i) {
    const int64_t number = label.empty() ? static_cast<int64_t>(i) : label[i];
    const Rgb color = options.colors.empty() ? voc_colormap(number + 1)
                                             : options.colors[static_cast<size_t>(number) % options.colors.size()];
    const int64_t top = pixel_of(bbox[i].y_min), left = pixel_of(bbox[i].x_min);
    picture.frame(top, left, pixel_of(bbox[i].y_max), pixel_of(bbox[i].x_max), line, color);
    const std::string caption = caption_of(i, label, score, options.label_names);
    if (caption.empty()) continue;
    const int64_t height = (detail::kGlyphHeight + 1) * scale;
    const int64_t width = (static_cast<int64_t>(caption.size()) * (detail::kGlyphWidth + 1) + 1) * scale;
    // Above the box, below its upper line where there is no room; never outside the image.
    const int64_t y = std::clamp<int64_t>(top >= height ? top - height : top + line, 0,
                                          std::max<int64_t>(picture.height - height, 0));
    const int64_t x = std::clamp<int64_t>(left, 0, std::max<int64_t>(picture.width - width, 0));
    picture.fill(y, x, y + height, x + width, color);
    picture.write(y + scale, x + scale, caption, scale, is_bright(color) ? Rgb{0, 0, 0} : Rgb{255, 255, 255});
  }
  return picture.array();
}

Array vis_bbox(const Array& image, const Detections& detections, const VisBboxOptions& options) {
  return vis_bbox(image, detections.bbox, detections.label, detections.score, options);
}

Array vis_semantic_segmentation(const Array& image, const Array& label, const VisSegmentationOptions& options) {
  const char* const call = "vis_semantic_segmentation";
  Picture picture(call, image);
  if (!label.is_defined()) throw TypeError(std::string(call) + ": label is an undefined array");
  if (is_floating(label.dtype())) {
    throw TypeError(std::string(call) + ": label has dtype " + name(label.dtype()) + ": it must be integers");
  }
  if (label.shape() != Shape{picture.height, picture.width}) {
    throw ValueError(std::string(call) + ": label has shape " + to_string(label.shape()) + " but the image has " +
                     std::to_string(picture.height) + " x " + std::to_string(picture.width) + " pixels");
  }
  argument::require(options.alpha >= 0 && options.alpha <= 1, call, "alpha", options.alpha, "be in [0, 1]");
  const std::vector<int64_t> labels = label.to_vector<int64_t>();
  for (int64_t y = 0; y < picture.height; ++y) {
    for (int64_t x = 0; x < picture.width; ++x) {
      const int64_t l = labels[static_cast<size_t>(y * picture.width + x)];
      if (l < -1) throw ValueError(std::string(call) + ": label has " + std::to_string(l) + ": it must be -1 or more");
      if (l == -1 && !options.ignored) continue;
      const Rgb color = l == -1                  ? *options.ignored
                        : options.colors.empty() ? voc_colormap(l)
                                                 : options.colors[static_cast<size_t>(l) % options.colors.size()];
      Rgb& pixel = picture.at(y, x);
      for (size_t c = 0; c < 3; ++c) {
        pixel[c] = static_cast<uint8_t>(std::lround((1 - options.alpha) * pixel[c] + options.alpha * color[c]));
      }
    }
  }
  return picture.array();
}

}  // namespace kusari::datasets
