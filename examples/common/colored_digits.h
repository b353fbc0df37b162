#pragma once

#include <cstdint>
#include <vector>

#include <kusari/kusari.h>

/// Small pictures where no data set is at hand: generated stroke digits in random colors on darker grounds, 8-bit RGB
/// of 32x32, with their labels. The same for the same seed.
inline kusari::datasets::TupleDataset colored_digits(int64_t count, uint64_t seed = 0) {
  using namespace kusari;
  const auto digits = datasets::get_stroke_digits({.n_train = count, .n_test = 0, .seed = seed, .scale = 255}).train;
  const std::vector<float> ink = digits.arrays()[0].to_vector<float>();
  constexpr int64_t kSide = 32, kDigit = 28, kPad = 2;
  std::vector<uint8_t> pixels(static_cast<size_t>(count * 3 * kSide * kSide));
  datasets::ExampleRandom random(seed);
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t c = 0; c < 3; ++c) {
      const double ground = random.uniform(0, 90), color = random.uniform(140, 255);
      for (int64_t y = 0; y < kSide; ++y) {
        for (int64_t x = 0; x < kSide; ++x) {
          const bool inside = y >= kPad && y < kPad + kDigit && x >= kPad && x < kPad + kDigit;
          const double share = inside ? ink[static_cast<size_t>((i * kDigit + y - kPad) * kDigit + x - kPad)] / 255 : 0;
          pixels[static_cast<size_t>(((i * 3 + c) * kSide + y) * kSide + x)] =
              static_cast<uint8_t>(ground + share * (color - ground));
        }
      }
    }
  }
  return datasets::TupleDataset(array(pixels, {count, 3, kSide, kSide}), digits.arrays()[1]);
}
