#include "kusari/framework/links/detection/anchor_grid.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "kusari/framework/core/argument.h"

namespace kusari::links {
namespace {

const char* const kAnchorGrid = "L::AnchorGrid";
const char* const kSsdGrid = "L::AnchorGrid::ssd";
constexpr int64_t kMostAnchors = int64_t{1} << 22;
constexpr int64_t kHighestLevel = 20;
constexpr int64_t kLargestSide = int64_t{1} << 24;  // float32 counts pixels up to there

int64_t divided_up(int64_t n, int64_t by) { return (n + by - 1) / by; }

Box around(double y, double x, double height, double width) {
  return {static_cast<float>(y - height / 2), static_cast<float>(x - width / 2), static_cast<float>(y + height / 2),
          static_cast<float>(x + width / 2)};
}

/// The anchors of a level of an image, as each convention has them. `add` takes a box.
class Level {
 public:
  Level(const AnchorGridOptions& options, int64_t level, int64_t height, int64_t width)
      : options_{options},
        stride_{int64_t{1} << level},
        rows_{divided_up(height, stride_)},
        columns_{divided_up(width, stride_)},
        height_{height},
        width_{width} {}

  int64_t places() const { return rows_ * columns_; }

  void append_to(std::vector<Box>& boxes) const {
    const std::vector<Box> shapes = shapes_at_origin();
    const bool is_corner = options_.convention == AnchorConvention::torchvision;
    const double step_y = step(height_, rows_), step_x = step(width_, columns_), shift = is_corner ? 0 : 0.5;
    for (int64_t row = 0; row < rows_; ++row) {
      const double y = (static_cast<double>(row) + shift) * step_y;
      for (int64_t column = 0; column < columns_; ++column) {
        const double x = (static_cast<double>(column) + shift) * step_x;
        for (const Box& shape : shapes) {
          boxes.push_back({static_cast<float>(y + shape.y_min), static_cast<float>(x + shape.x_min),
                           static_cast<float>(y + shape.y_max), static_cast<float>(x + shape.x_max)});
        }
      }
    }
  }

 private:
  double step(int64_t side, int64_t places) const {
    switch (options_.convention) {
      case AnchorConvention::automl:
        return static_cast<double>(side) / static_cast<double>(places);
      case AnchorConvention::torchvision:
        return static_cast<double>(side / places);
      case AnchorConvention::chainercv:
        break;
    }
    return static_cast<double>(stride_);
  }

  Box shape(double octave, double ratio) const {
    const double size = options_.scale * octave;  // in strides
    const auto stride = static_cast<double>(stride_);
    switch (options_.convention) {
      case AnchorConvention::automl:
        return around(0, 0, size * step(height_, rows_) / std::sqrt(ratio),
                      size * step(width_, columns_) * std::sqrt(ratio));
      case AnchorConvention::torchvision: {
        const double whole = std::trunc(size * stride), height = whole / std::sqrt(ratio),
                     width = whole * std::sqrt(ratio);
        const auto y = static_cast<float>(std::nearbyint(height / 2)),
                   x = static_cast<float>(std::nearbyint(width / 2));
        return {-y, -x, y, x};
      }
      case AnchorConvention::chainercv:
        break;
    }
    const double width = std::nearbyint(stride * std::sqrt(ratio)), height = std::nearbyint(width / ratio);
    return around(0, 0, height * size, width * size);
  }

  std::vector<Box> shapes_at_origin() const {
    std::vector<Box> shapes;
    const auto octave = [&](int64_t k) {
      return std::exp2(static_cast<double>(k) / static_cast<double>(options_.octaves));
    };
    if (options_.convention == AnchorConvention::torchvision) {
      for (const double ratio : options_.ratios) {
        for (int64_t k = 0; k < options_.octaves; ++k) shapes.push_back(shape(octave(k), ratio));
      }
      return shapes;
    }
    for (int64_t k = 0; k < options_.octaves; ++k) {
      for (const double ratio : options_.ratios) shapes.push_back(shape(octave(k), ratio));
    }
    return shapes;
  }

  const AnchorGridOptions& options_;
  int64_t stride_, rows_, columns_, height_, width_;
};

void append_ssd_level(const SsdAnchorGridOptions& ssd, size_t k, std::vector<Box>& boxes) {
  const double size = ssd.sizes[k], between = std::sqrt(ssd.sizes[k] * ssd.sizes[k + 1]);
  for (int64_t row = 0; row < ssd.grids[k]; ++row) {
    const double y = (static_cast<double>(row) + 0.5) * ssd.steps[k];
    for (int64_t column = 0; column < ssd.grids[k]; ++column) {
      const double x = (static_cast<double>(column) + 0.5) * ssd.steps[k];
      boxes.push_back(around(y, x, size, size));
      boxes.push_back(around(y, x, between, between));
      for (const double ratio : ssd.ratios[k]) {
        const double root = std::sqrt(ratio);
        boxes.push_back(around(y, x, size / root, size * root));
        boxes.push_back(around(y, x, size * root, size / root));
      }
    }
  }
}

void check_length(const char* name, size_t length, size_t expected) {
  if (length == expected) return;
  throw ValueError(std::string(kSsdGrid) + ": " + name + " has " + std::to_string(length) + " entries: it must have " +
                   std::to_string(expected) + " for the grids that there are");
}

}  // namespace

AnchorGrid::AnchorGrid(AnchorGridOptions options) : options_{std::move(options)} {
  argument::count(kAnchorGrid, "levels.size()", static_cast<int64_t>(options_.levels.size()));
  for (const int64_t level : options_.levels) {
    argument::require(level >= 0 && level <= kHighestLevel, kAnchorGrid, "levels[i]", level, "be in [0, 20]");
  }
  argument::finite_positive(kAnchorGrid, "scale", options_.scale);
  argument::count(kAnchorGrid, "octaves", options_.octaves);
  argument::count(kAnchorGrid, "ratios.size()", static_cast<int64_t>(options_.ratios.size()));
  for (const double ratio : options_.ratios) argument::finite_positive(kAnchorGrid, "ratios[i]", ratio);
}

AnchorGrid::AnchorGrid(SsdAnchorGridOptions ssd, int) : ssd_{std::move(ssd)} {}

AnchorGrid AnchorGrid::torchvision() {
  return AnchorGrid({.ratios = {2, 1, 0.5}, .convention = AnchorConvention::torchvision});
}

AnchorGrid AnchorGrid::rpn() {
  return AnchorGrid({.levels = {2, 3, 4, 5, 6},
                     .scale = 8,
                     .octaves = 1,
                     .ratios = {2, 1, 0.5},
                     .convention = AnchorConvention::chainercv});
}

AnchorGrid AnchorGrid::faster_rcnn() {
  return AnchorGrid({.levels = {2, 3, 4, 5, 6},
                     .scale = 8,
                     .octaves = 1,
                     .ratios = {2, 1, 0.5},
                     .convention = AnchorConvention::torchvision});
}

AnchorGrid AnchorGrid::ssd(SsdAnchorGridOptions options) {
  argument::require(options.size >= 1 && options.size <= kLargestSide, kSsdGrid, "size", options.size,
                    "be in [1, 2^24]");
  const size_t maps = options.grids.size();
  argument::count(kSsdGrid, "grids.size()", static_cast<int64_t>(maps));
  check_length("steps", options.steps.size(), maps);
  check_length("sizes", options.sizes.size(), maps + 1);
  check_length("ratios", options.ratios.size(), maps);
  for (const int64_t grid : options.grids) argument::count(kSsdGrid, "grids[i]", grid);
  for (const double step : options.steps) argument::finite_positive(kSsdGrid, "steps[i]", step);
  for (const double size : options.sizes) argument::finite_positive(kSsdGrid, "sizes[i]", size);
  for (const std::vector<double>& ratios : options.ratios) {
    for (const double ratio : ratios) argument::finite_positive(kSsdGrid, "ratios[i][j]", ratio);
  }
  return AnchorGrid(std::move(options), 0);
}

int64_t AnchorGrid::levels() const noexcept {
  return static_cast<int64_t>(ssd_ ? ssd_->grids.size() : options_.levels.size());
}

int64_t AnchorGrid::at_place(int64_t i) const {
  if (i < 0 || i >= levels()) {
    throw IndexError("L::AnchorGrid::at_place: level " + std::to_string(i) + " of " + std::to_string(levels()));
  }
  if (ssd_) return 2 + 2 * static_cast<int64_t>(ssd_->ratios[static_cast<size_t>(i)].size());
  return options_.octaves * static_cast<int64_t>(options_.ratios.size());
}

void AnchorGrid::check_image(int64_t height, int64_t width) const {
  for (const auto& [name, side] : {std::pair{"height", height}, std::pair{"width", width}}) {
    argument::require(side >= 1 && side <= kLargestSide, kAnchorGrid, name, side, "be in [1, 2^24]");
    if (ssd_ && side != ssd_->size) {
      throw ValueError(std::string(kAnchorGrid) + ": " + name + " is " + std::to_string(side) +
                       ": it must be the grid's, " + std::to_string(ssd_->size));
    }
  }
}

std::vector<int64_t> AnchorGrid::level_counts(int64_t height, int64_t width) const {
  check_image(height, width);
  std::vector<int64_t> counts;
  double all = 0;
  for (int64_t i = 0; i < levels(); ++i) {
    const auto k = static_cast<size_t>(i);
    const int64_t places =
        ssd_ ? ssd_->grids[k] * ssd_->grids[k] : Level(options_, options_.levels[k], height, width).places();
    all += static_cast<double>(places) * static_cast<double>(at_place(i));
    if (all > static_cast<double>(kMostAnchors)) {
      throw ValueError(std::string(kAnchorGrid) + ": an image of " + std::to_string(height) + " x " +
                       std::to_string(width) + " has more than 2^22 anchors");
    }
    counts.push_back(places * at_place(i));
  }
  return counts;
}

std::vector<Box> AnchorGrid::operator()(int64_t height, int64_t width) const {
  int64_t count = 0;
  for (const int64_t n : level_counts(height, width)) count += n;
  std::vector<Box> boxes;
  boxes.reserve(static_cast<size_t>(count));
  for (size_t k = 0; k < static_cast<size_t>(levels()); ++k) {
    if (ssd_) {
      append_ssd_level(*ssd_, k, boxes);
    } else {
      Level(options_, options_.levels[k], height, width).append_to(boxes);
    }
  }
  return boxes;
}

}  // namespace kusari::links
