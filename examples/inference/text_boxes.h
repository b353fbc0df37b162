#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

// Boxes around texts, from a map of how likely each pixel belongs to one (differentiable binarization, Liao et al.
// 2020).

struct Point {
  double x, y;
  friend Point operator+(Point a, Point b) { return {a.x + b.x, a.y + b.y}; }
  friend Point operator-(Point a, Point b) { return {a.x - b.x, a.y - b.y}; }
  friend Point operator*(double f, Point a) { return {f * a.x, f * a.y}; }
  double length() const { return std::hypot(x, y); }
};

// A text's corners in reading order, as if it ran from left to right: upper left, upper right, lower right, lower left.
struct TextBox {
  std::array<Point, 4> corners;
  double score;  // mean probability inside
  double width() const { return (corners[1] - corners[0]).length(); }
  double height() const { return (corners[3] - corners[0]).length(); }
};

struct TextBoxOptions {
  double threshold = 0.3;    // probability of a pixel of a text
  double least_score = 0.5;  // of a box
  double grow = 1.6;         // a box grows by grow * area / circumference on each side
  double least_side = 3;     // pixels
};

namespace text_boxes {

// Corners of the convex hull, in order.
inline std::vector<Point> hull_of(std::vector<Point> points) {
  std::sort(points.begin(), points.end(), [](Point a, Point b) { return a.x != b.x ? a.x < b.x : a.y < b.y; });
  const auto turns = [](Point a, Point b, Point c) {
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x) > 0;
  };
  std::vector<Point> hull;
  for (const bool is_back : {false, true}) {
    const size_t first = hull.size();
    for (const Point p : points) {
      while (hull.size() >= first + 2 && !turns(hull[hull.size() - 2], hull.back(), p)) hull.pop_back();
      hull.push_back(p);
    }
    hull.pop_back();  // begins the other half
    if (!is_back) std::reverse(points.begin(), points.end());
  }
  if (hull.empty()) hull.push_back(points.front());
  return hull;
}

// The smallest rectangle around points, one of whose sides lies on a side of their hull.
inline std::array<Point, 4> smallest_rectangle(const std::vector<Point>& points) {
  const std::vector<Point> hull = hull_of(points);
  std::array<Point, 4> best = {};
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < hull.size(); ++i) {
    const Point side = hull[(i + 1) % hull.size()] - hull[i];
    // Of the two directions of sides the one along which texts run, from left to right.
    Point along = side.length() > 0 ? (1 / side.length()) * side : Point{1, 0};
    if (std::abs(along.x) < std::abs(along.y)) along = {along.y, -along.x};
    if (along.x < 0) along = -1.0 * along;
    const Point down{-along.y, along.x};
    double left = std::numeric_limits<double>::infinity(), right = -left, top = left, bottom = -left;
    for (const Point p : hull) {
      const double u = p.x * along.x + p.y * along.y, v = p.x * down.x + p.y * down.y;
      left = std::min(left, u), right = std::max(right, u), top = std::min(top, v), bottom = std::max(bottom, v);
    }
    const double area = (right - left) * (bottom - top);
    if (area >= least) continue;
    least = area;
    const auto at = [&](double u, double v) { return u * along + v * down; };
    best = {at(left, top), at(right, top), at(right, bottom), at(left, bottom)};
  }
  return best;
}

// The mean of the map where pixels lie inside.
inline double mean_inside(std::span<const float> map, int64_t width, const TextBox& box) {
  const auto height = static_cast<int64_t>(map.size()) / width;
  double low_x = box.corners[0].x, high_x = low_x, low_y = box.corners[0].y, high_y = low_y;
  for (const Point p : box.corners) {
    low_x = std::min(low_x, p.x), high_x = std::max(high_x, p.x);
    low_y = std::min(low_y, p.y), high_y = std::max(high_y, p.y);
  }
  const auto clipped = [](double value, int64_t size) {
    return std::clamp(static_cast<int64_t>(value), int64_t{0}, size - 1);
  };
  double sum = 0;
  int64_t count = 0;
  for (int64_t y = clipped(std::floor(low_y), height); y <= clipped(std::ceil(high_y), height); ++y) {
    for (int64_t x = clipped(std::floor(low_x), width); x <= clipped(std::ceil(high_x), width); ++x) {
      bool is_inside = true;
      for (size_t i = 0; i < 4; ++i) {
        const Point a = box.corners[i], side = box.corners[(i + 1) % 4] - a;
        const double across = side.x * (static_cast<double>(y) - a.y) - side.y * (static_cast<double>(x) - a.x);
        is_inside = is_inside && across >= -1e-6;
      }
      if (!is_inside) continue;
      sum += map[static_cast<size_t>(y * width + x)];
      ++count;
    }
  }
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

}  // namespace text_boxes

// The boxes of a map of `width` pixels in each row, from top to bottom and left to right. Pixels that touch, also by a
// corner, belong to one text.
inline std::vector<TextBox> find_text_boxes(std::span<const float> map, int64_t width, const TextBoxOptions& options) {
  const auto height = static_cast<int64_t>(map.size()) / width;
  // With their right and lower neighbours, so that letters join.
  std::vector<uint8_t> is_open(map.size());
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      if (map[static_cast<size_t>(y * width + x)] <= options.threshold) continue;
      for (int64_t v = y; v <= std::min(y + 1, height - 1); ++v) {
        for (int64_t u = x; u <= std::min(x + 1, width - 1); ++u) is_open[static_cast<size_t>(v * width + u)] = 1;
      }
    }
  }
  std::vector<TextBox> boxes;
  for (int64_t start = 0; start < static_cast<int64_t>(is_open.size()); ++start) {
    if (is_open[static_cast<size_t>(start)] == 0) continue;
    std::vector<int64_t> waiting{start};
    is_open[static_cast<size_t>(start)] = 0;
    std::vector<Point> points;
    while (!waiting.empty()) {
      const int64_t at = waiting.back(), x = at % width, y = at / width;
      waiting.pop_back();
      points.push_back({static_cast<double>(x), static_cast<double>(y)});
      for (int64_t v = std::max<int64_t>(y - 1, 0); v <= std::min(y + 1, height - 1); ++v) {
        for (int64_t u = std::max<int64_t>(x - 1, 0); u <= std::min(x + 1, width - 1); ++u) {
          uint8_t& next = is_open[static_cast<size_t>(v * width + u)];
          if (std::exchange(next, uint8_t{0}) != 0) waiting.push_back(v * width + u);
        }
      }
    }
    TextBox box{text_boxes::smallest_rectangle(points), 0};
    if (std::min(box.width(), box.height()) < options.least_side) continue;
    box.score = text_boxes::mean_inside(map, width, box);
    if (box.score < options.least_score) continue;
    const double by = options.grow * box.width() * box.height() / (2 * (box.width() + box.height()));
    const Point along = (by / box.width()) * (box.corners[1] - box.corners[0]);
    const Point down = (by / box.height()) * (box.corners[3] - box.corners[0]);
    box.corners = {box.corners[0] - along - down, box.corners[1] + along - down, box.corners[2] + along + down,
                   box.corners[3] - along + down};
    boxes.push_back(box);
  }
  // Boxes of one line begin at nearly the same height.
  const auto top = [](const TextBox& box) { return box.corners[0].y; };
  std::sort(boxes.begin(), boxes.end(), [&](const TextBox& a, const TextBox& b) { return top(a) < top(b); });
  for (auto first = boxes.begin(); first != boxes.end();) {
    auto last = std::next(first);
    while (last != boxes.end() && top(*last) - top(*std::prev(last)) < first->height() / 2) ++last;
    std::sort(first, last, [](const TextBox& a, const TextBox& b) { return a.corners[0].x < b.corners[0].x; });
    first = last;
  }
  return boxes;
}
