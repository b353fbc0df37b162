#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

#include <kusari/kusari.h>

// Points of the plane around eight centers on a circle of radius 1: a mixture of which a generator easily misses parts.
class GaussianRing {
 public:
  static constexpr int kModes = 8;

  explicit GaussianRing(double deviation) : deviation_{deviation} {}

  // n points of each center.
  kusari::datasets::TupleDataset draw(int64_t n, uint64_t seed) const {
    kusari::datasets::ExampleRandom random(seed);
    std::vector<float> points;
    for (int64_t i = 0; i < n * kModes; ++i) {
      for (const double coordinate : center(static_cast<int>(i % kModes))) {
        points.push_back(static_cast<float>(random.normal(coordinate, deviation_)));
      }
    }
    return kusari::datasets::TupleDataset(kusari::array(points, {n * kModes, 2}));
  }

  struct Coverage {
    int modes;       // centers near which there are at least half as many points as there should be
    double quality;  // part of the points that are near a center, within three deviations; 0.989 of true ones are
  };

  // Of points (n, 2).
  Coverage coverage(const kusari::Array& points) const {
    const std::vector<double> x = points.to_vector<double>();
    std::array<int64_t, kModes> near{};
    for (size_t i = 0; i < x.size(); i += 2) {
      for (int mode = 0; mode < kModes; ++mode) {
        const auto [cx, cy] = center(mode);
        if (std::hypot(x[i] - cx, x[i + 1] - cy) < 3 * deviation_) ++near[static_cast<size_t>(mode)];
      }
    }
    Coverage result{0, 0};
    const double n = static_cast<double>(points.shape(0));
    for (const int64_t count : near) {
      result.modes += static_cast<double>(count) >= n / kModes / 2;
      result.quality += static_cast<double>(count) / n;
    }
    return result;
  }

 private:
  static std::array<double, 2> center(int mode) {
    const double angle = 2 * std::numbers::pi * mode / kModes;
    return {std::cos(angle), std::sin(angle)};
  }

  double deviation_;
};
