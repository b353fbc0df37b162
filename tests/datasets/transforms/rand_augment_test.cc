#include "kusari/framework/datasets/transforms/rand_augment.h"

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/example_random.h"
#include "kusari/framework/datasets/transforms/affine.h"
#include "kusari/framework/datasets/transforms/enhance.h"
#include "kusari/framework/datasets/transforms/tones.h"
#include "kusari/tests/datasets/transforms/images.h"

using namespace kusari;
using namespace kusari::transforms;
using namespace kusari::testing;
using datasets::ExampleRandom;

TEST_CASE("RandAugment: each of its operations, as often as the others, in both directions") {
  for (const Dtype dtype : {Dtype::uint8, Dtype::float32}) {
    const Array x = halved_pixels(3, dtype);
    // Of strength 12 / 30: translations by 150 / 331 * 0.4 * (31, 23) pixels, cut to whole ones.
    struct Operation {
      double share;
      Array result;
    };
    const double both = 1.0 / 28, one = 1.0 / 14;
    const Operation operations[] = {
        {one, x},
        {one, AutoContrast{}(x)},
        {one, Equalize{}(x)},
        {one, Posterize{6}(x)},
        {one, Solarize{153}(x)},
        {both, Rotate{12, 5}(x)},
        {both, Rotate{-12, 5}(x)},
        {both, Color{1.36}(x)},
        {both, Color{0.64}(x)},
        {both, Contrast{1.36}(x)},
        {both, Contrast{0.64}(x)},
        {both, Brightness{1.36}(x)},
        {both, Brightness{0.64}(x)},
        {both, Sharpness{1.36}(x)},
        {both, Sharpness{0.64}(x)},
        {both, Affine{.xy = 0.12, .fill = 5}(x)},
        {both, Affine{.xy = -0.12, .fill = 5}(x)},
        {both, Affine{.yx = 0.12, .fill = 5}(x)},
        {both, Affine{.yx = -0.12, .fill = 5}(x)},
        {both, Affine{.x0 = 5, .fill = 5}(x)},
        {both, Affine{.x0 = -5, .fill = 5}(x)},
        {both, Affine{.y0 = 4, .fill = 5}(x)},
        {both, Affine{.y0 = -4, .fill = 5}(x)},
    };
    constexpr int kDraws = 3000;
    std::vector<int> counts(std::size(operations));
    ExampleRandom random(5);
    for (int draw = 0; draw < kDraws; ++draw) {
      const std::vector<float> y = RandAugment{.n_ops = 1, .magnitude = 12, .fill = 5}(x, random).to_vector<float>();
      int found = 0;
      for (size_t i = 0; i < counts.size(); ++i) {
        if (operations[i].result.to_vector<float>() != y) continue;
        ++counts[i];
        ++found;
      }
      REQUIRE(found == 1);
    }
    for (size_t i = 0; i < counts.size(); ++i) {
      CAPTURE(i);
      const double p = operations[i].share;
      CHECK(std::abs(counts[i] - kDraws * p) < 5 * std::sqrt(kDraws * p * (1 - p)));
    }
  }
}

TEST_CASE("RandAugment: operations one after the other, by the example's random numbers") {
  const Array x = halved_pixels(1, Dtype::uint8);
  ExampleRandom first(1), again(1), other(2), steps(1);
  const RandAugment augment{.n_ops = 3, .magnitude = 20};
  const Array y = augment(x, first);
  CHECK(y.shape() == x.shape());
  CHECK(y.dtype() == Dtype::uint8);
  CHECK(augment(x, again).to_vector<int>() == y.to_vector<int>());
  CHECK(augment(x, other).to_vector<int>() != y.to_vector<int>());
  Array stepped = x;
  for (int i = 0; i < 3; ++i) stepped = RandAugment{.n_ops = 1, .magnitude = 20}(stepped, steps);
  CHECK(stepped.to_vector<int>() == y.to_vector<int>());
  CHECK(RandAugment{.n_ops = 0}(x, first).to_vector<int>() == x.to_vector<int>());
  CHECK(RandAugment{.n_ops = 9, .magnitude = 30}(zeros({3, 0, 2}, Dtype::float32), first).shape() == Shape{3, 0, 2});
}

TEST_CASE("RandAugment: what cannot be") {
  ExampleRandom random(1);
  const Array x = pixels(3, 4, 4, Dtype::uint8);
  CHECK_THROWS_WITH_AS((RandAugment{.n_ops = -1}(x, random)),
                       "transforms::RandAugment: n_ops is -1: it must be in [0, 100]", ValueError);
  CHECK_THROWS_WITH_AS((RandAugment{.magnitude = 31}(x, random)),
                       "transforms::RandAugment: magnitude is 31: it must be in [0, 30]", ValueError);
  CHECK_THROWS_AS((RandAugment{.magnitude = std::nan("")}(x, random)), ValueError);
  CHECK_THROWS_AS((RandAugment{.fill = -1}(x, random)), ValueError);
  CHECK_THROWS_WITH_AS(RandAugment{}(pixels(4, 4, 4, Dtype::uint8), random),
                       "transforms::RandAugment: the image has 4 channels: it must have 1 or 3", ValueError);
}
