#include "kusari/framework/datasets/detection/drawn_shapes_dataset.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/datasets/example_random.h"
#include "kusari/framework/functions/detection/bbox_iou.h"
#include "kusari/framework/functions/detection/box.h"

namespace kusari::datasets {
namespace {

const char* const kDrawnShapes = "DrawnShapesDataset";
constexpr int kKinds = 3;
constexpr double kMostOverlap = 0.1;  // IoU of the boxes of two shapes
constexpr int kTries = 20;            // to find room for one more
constexpr double kEdge = 0.75;        // half the width of the seam without a class, in pixels

/// A disc, or a polygon with its corners on a circle.
struct DrawnShape {
  int kind;
  double y, x, radius, angle;
  std::array<double, 3> colour;
  Box box;
};

/// Corners of a polygon, or none of a disc.
std::vector<std::array<double, 2>> corners_of(const DrawnShape& shape) {
  std::vector<std::array<double, 2>> corners;
  const int count = shape.kind == 0 ? 0 : shape.kind == 1 ? 4 : 3;
  for (int i = 0; i < count; ++i) {
    const double angle = shape.angle + 2 * std::numbers::pi * i / count;
    corners.push_back({shape.y + shape.radius * std::sin(angle), shape.x + shape.radius * std::cos(angle)});
  }
  return corners;
}

Box box_of(const DrawnShape& shape) {
  double y_min = shape.y - shape.radius, y_max = shape.y + shape.radius;
  double x_min = shape.x - shape.radius, x_max = shape.x + shape.radius;
  const auto corners = corners_of(shape);
  if (!corners.empty()) {
    y_min = y_max = corners[0][0];
    x_min = x_max = corners[0][1];
    for (const auto& [y, x] : corners) {
      y_min = std::min(y_min, y);
      y_max = std::max(y_max, y);
      x_min = std::min(x_min, x);
      x_max = std::max(x_max, x);
    }
  }
  return {static_cast<float>(y_min), static_cast<float>(x_min), static_cast<float>(y_max), static_cast<float>(x_max)};
}

/// How far a place is inside, in pixels; negative outside.
double depth(const DrawnShape& shape, const std::vector<std::array<double, 2>>& corners, double y, double x) {
  if (corners.empty()) return shape.radius - std::hypot(y - shape.y, x - shape.x);
  double nearest = shape.radius;
  for (size_t i = 0; i < corners.size(); ++i) {
    const auto& a = corners[i];
    const auto& b = corners[(i + 1) % corners.size()];
    const double dy = b[0] - a[0], dx = b[1] - a[1];
    nearest = std::min(nearest, (dx * (y - a[0]) - dy * (x - a[1])) / std::hypot(dy, dx));
  }
  return nearest;
}

std::array<double, 3> colour_of(ExampleRandom& random) {
  return {random.uniform(0, 255), random.uniform(0, 255), random.uniform(0, 255)};
}

double contrast(const std::array<double, 3>& a, const std::array<double, 3>& b) {
  return std::abs(a[0] - b[0]) + std::abs(a[1] - b[1]) + std::abs(a[2] - b[2]);
}

std::vector<DrawnShape> draw_shapes(const DrawnShapesOptions& o, const std::array<double, 3>& background,
                                    ExampleRandom& random) {
  std::vector<DrawnShape> shapes;
  const double side = static_cast<double>(std::min(o.height, o.width));
  const int64_t wanted = 1 + random.integer(o.most);
  for (int64_t tries = wanted * kTries; tries > 0 && static_cast<int64_t>(shapes.size()) < wanted; --tries) {
    DrawnShape shape;
    shape.kind = static_cast<int>(random.integer(kKinds));
    shape.radius = side * random.uniform(0.1, 0.28);
    shape.y = random.uniform(shape.radius, static_cast<double>(o.height) - shape.radius);
    shape.x = random.uniform(shape.radius, static_cast<double>(o.width) - shape.radius);
    shape.angle = random.uniform(0, 2 * std::numbers::pi);
    shape.colour = colour_of(random);
    shape.box = box_of(shape);
    const bool is_free = std::all_of(shapes.begin(), shapes.end(), [&](const DrawnShape& other) {
      return functions::bbox_iou(shape.box, other.box) <= kMostOverlap;
    });
    if (is_free && contrast(shape.colour, background) > 120) shapes.push_back(shape);
  }
  return shapes;
}

}  // namespace

DrawnShapesDataset::DrawnShapesDataset(int64_t n, const DrawnShapesOptions& options)
    : size_{argument::not_negative(kDrawnShapes, "n", n)}, options_{options} {
  const auto side = [](const char* name, int64_t value) {
    argument::require(value >= 32 && value <= 4096, kDrawnShapes, name, value, "be in [32, 4096]");
  };
  side("height", options.height);
  side("width", options.width);
  argument::require(options.most >= 1 && options.most <= 100, kDrawnShapes, "most", options.most, "be in [1, 100]");
}

Example DrawnShapesDataset::get(int64_t i) const {
  check_index(kDrawnShapes, i, size_);
  const int64_t height = options_.height, width = options_.width;
  ExampleRandom random(options_.seed, 0, i);
  const std::array<double, 3> background = colour_of(random);
  const double light = random.uniform(-0.3, 0.3), noise = random.uniform(4, 16);
  std::vector<DrawnShape> shapes = draw_shapes(options_, background, random);

  std::vector<double> pixels(static_cast<size_t>(3 * height * width));
  std::vector<int32_t> classes(static_cast<size_t>(height * width), 0);
  for (int64_t y = 0; y < height; ++y) {
    const double shade = 1 + light * (static_cast<double>(y) / static_cast<double>(height) - 0.5);
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t c = 0; c < 3; ++c) {
        pixels[static_cast<size_t>((y * width + x) * 3 + c)] = background[static_cast<size_t>(c)] * shade;
      }
    }
  }
  for (const DrawnShape& shape : shapes) {
    const auto corners = corners_of(shape);
    const auto low = [](double place) { return std::max<int64_t>(0, static_cast<int64_t>(place) - 1); };
    const auto high = [](double place, int64_t size) { return std::min(size, static_cast<int64_t>(place) + 2); };
    for (int64_t y = low(shape.y - shape.radius); y < high(shape.y + shape.radius, height); ++y) {
      for (int64_t x = low(shape.x - shape.radius); x < high(shape.x + shape.radius, width); ++x) {
        const double inside = depth(shape, corners, static_cast<double>(y) + 0.5, static_cast<double>(x) + 0.5);
        const double cover = std::clamp(inside + 0.5, 0.0, 1.0);
        if (cover > 0) {
          for (int64_t c = 0; c < 3; ++c) {
            double& pixel = pixels[static_cast<size_t>((y * width + x) * 3 + c)];
            pixel += cover * (shape.colour[static_cast<size_t>(c)] - pixel);
          }
        }
        if (inside > -kEdge) classes[static_cast<size_t>(y * width + x)] = inside > kEdge ? shape.kind + 1 : -1;
      }
    }
  }
  std::vector<uint8_t> bytes(pixels.size());
  for (size_t k = 0; k < pixels.size(); ++k) {
    bytes[k] = static_cast<uint8_t>(std::clamp(std::lround(pixels[k] + random.normal(0, noise)), 0L, 255L));
  }
  const Array image = array<uint8_t>(bytes, {height, width, 3}).transpose({2, 0, 1});
  if (options_.task == ShapesTask::segmentation) return {image, array<int32_t>(classes, {height, width})};
  std::vector<Box> bbox;
  std::vector<int32_t> label;
  for (const DrawnShape& shape : shapes) {
    bbox.push_back(shape.box);
    label.push_back(shape.kind);
  }
  return {image, bbox_array(bbox), array<int32_t>(label, {static_cast<int64_t>(label.size())})};
}

Keys DrawnShapesDataset::keys() const {
  if (options_.task == ShapesTask::segmentation) return {"image", "label"};
  return {"image", "bbox", "label"};
}

std::vector<std::string> DrawnShapesDataset::label_names() const {
  std::vector<std::string> names{"disc", "square", "triangle"};
  if (options_.task == ShapesTask::segmentation) names.insert(names.begin(), "background");
  return names;
}

}  // namespace kusari::datasets
