#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include <kusari/kusari.h>

// Pairs of a plan, of the kind of the CMP Facade Database, and a picture of a house that follows it. Both are drawn;
// there are no files. The plan has a channel, 0 or 1, for each of twelve kinds of things; the picture is RGB of -1
// .. 1.
class Facades final : public kusari::datasets::Dataset {
 public:
  static constexpr int64_t kKinds = 12;

  Facades(int64_t count, int64_t side, uint64_t seed) : count_{count}, side_{side}, seed_{seed} {}

  int64_t size() const override { return count_; }

  kusari::datasets::Example get(int64_t i) const override {
    check_index("Facades::get", i, count_);
    kusari::datasets::ExampleRandom random(seed_ * 1'000'003 + static_cast<uint64_t>(i));
    Painter painter(side_, random);
    painter.rectangle(0, 0, 1, 1, 0);     // background: sky
    painter.rectangle(0, 0.12, 1, 1, 1);  // facade
    const auto floors = 2 + random.integer(3), columns = 2 + random.integer(3);
    painter.rectangle(0, 0.1, 1, 0.14, 4);  // cornice
    for (int64_t floor = 0; floor < floors; ++floor) {
      const double top = 0.18 + 0.8 * static_cast<double>(floor) / static_cast<double>(floors);
      const double height = 0.45 / static_cast<double>(floors);
      const bool is_ground = floor + 1 == floors;
      for (int64_t column = 0; column < columns; ++column) {
        const double left = (static_cast<double>(column) + 0.25) / static_cast<double>(columns);
        const double right = left + 0.5 / static_cast<double>(columns);
        const bool is_door = is_ground && column == columns / 2;
        painter.rectangle(left, top, right, is_door ? 1 : top + height, is_door ? 3 : 2);
        if (!is_door) painter.rectangle(left - 0.02, top + height, right + 0.02, top + height + 0.02, 5);  // sill
      }
    }
    return {kusari::array(painter.plan, {kKinds, side_, side_}), kusari::array(painter.picture, {3, side_, side_})};
  }

 private:
  struct Painter {
    Painter(int64_t side, kusari::datasets::ExampleRandom& random)
        : side_{side},
          random_{random},
          plan(static_cast<size_t>(kKinds * side * side)),
          picture(static_cast<size_t>(3 * side * side)) {
      // What a kind of thing looks like is much the same for all houses.
      constexpr std::array<std::array<double, 3>, kKinds> kColors{{{0.1, 0.4, 0.9},
                                                                   {0.5, 0.1, -0.2},
                                                                   {-0.6, -0.5, -0.2},
                                                                   {-0.3, -0.6, -0.8},
                                                                   {0.8, 0.8, 0.7},
                                                                   {0.7, 0.7, 0.6}}};
      for (size_t kind = 0; kind < colors_.size(); ++kind) {
        for (size_t c = 0; c < 3; ++c)
          colors_[kind][c] = std::clamp(kColors[kind][c] + random.normal(0, 0.1), -1.0, 1.0);
      }
    }

    void rectangle(double left, double top, double right, double bottom, int64_t kind) {
      const auto place = [&](double share) {
        return std::clamp<int64_t>(static_cast<int64_t>(share * static_cast<double>(side_)), 0, side_);
      };
      const int64_t pixels = side_ * side_;
      for (int64_t y = place(top); y < place(bottom); ++y) {
        for (int64_t x = place(left); x < place(right); ++x) {
          const int64_t at = y * side_ + x;
          for (int64_t k = 0; k < kKinds; ++k) plan[static_cast<size_t>(k * pixels + at)] = k == kind ? 1.f : 0.f;
          const double noise = random_.normal(0, 0.03);
          for (size_t c = 0; c < 3; ++c) {
            const double color = colors_[static_cast<size_t>(kind)][c] + noise;
            picture[c * static_cast<size_t>(pixels) + static_cast<size_t>(at)] =
                static_cast<float>(std::clamp(color, -1.0, 1.0));
          }
        }
      }
    }

   private:
    int64_t side_;
    kusari::datasets::ExampleRandom& random_;
    std::array<std::array<double, 3>, kKinds> colors_{};

   public:
    std::vector<float> plan, picture;
  };

  int64_t count_, side_;
  uint64_t seed_;
};
