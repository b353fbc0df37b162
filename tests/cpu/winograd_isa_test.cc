// Winograd's loops, which must give the same bits in each instruction set. Linked to the objects themselves: the
// library hides them.
#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "kusari/framework/cpu/isa/winograd.h"
#include "kusari/tests/cpu/skip_below.h"

#if defined(__x86_64__)

using namespace kusari::cpu;

namespace {

constexpr int64_t kPlaces = kWinogradPlaces, kChannels = 2 * kWinogradChannels, kTiles = 11;

std::vector<float> winograd_noise(int64_t n, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<size_t>(n));
  for (float& value : values) value = uniform(generator);
  return values;
}

template <size_t kCount>
void spread(std::vector<float>& values, float* (&addresses)[kCount]) {
  for (size_t i = 0; i < kCount; ++i) addresses[i] = values.data() + i * kChannels;
}

// Everything that the loops compute from the same numbers, one after the other.
std::vector<float> winograd_results(const WinogradLoops& loops) {
  std::vector<float> all;
  const auto add = [&](const std::vector<float>& more) { all.insert(all.end(), more.begin(), more.end()); };
  const auto zeros = [](int64_t n) { return std::vector<float>(static_cast<size_t>(n)); };

  const std::vector<float> w = winograd_noise(9 * kChannels * kChannels, 1);
  for (const bool from_rows : {true, false}) {
    std::vector<float> u = zeros(kPlaces * kChannels * kChannels);
    loops.weights(w.data(), kChannels, kChannels, from_rows, 0, kChannels / kWinogradChannels, u.data());
    add(u);
    std::vector<float> m = zeros(kTiles * kWinogradChannels);
    const std::vector<float> v = winograd_noise(kTiles * kChannels, 2);
    loops.multiply(v.data(), kChannels, kTiles, kChannels, u.data(), m.data(), kWinogradChannels);
    add(m);
  }

  std::vector<float> x = winograd_noise(kPlaces * kChannels, 3), v = zeros(kPlaces * kChannels);
  float* square[36];
  spread(x, square);
  loops.input(square, kChannels, v.data(), kChannels);
  add(v);
  std::vector<float> y = zeros(16 * kChannels);
  const std::vector<float> bias = winograd_noise(kChannels, 4);
  float* tile[16];
  spread(y, tile);
  tile[5] = nullptr;  // outside the image
  loops.output(x.data(), kChannels, kChannels, bias.data(), nullptr, false, tile);
  add(y);
  std::vector<float> g = winograd_noise(16 * kChannels, 5), n = zeros(kPlaces * kChannels);
  spread(g, tile);
  loops.gradient(tile, kChannels, n.data(), kChannels);
  add(n);
  std::vector<float> taps = zeros(9 * kChannels);
  loops.filter(x.data(), kChannels, kChannels, taps.data(), kChannels);
  add(taps);

  const std::vector<float> left = winograd_noise(kTiles * kChannels, 6), right = winograd_noise(kTiles * kChannels, 7);
  std::vector<float> sum = zeros(kChannels * kChannels);
  for (const bool again : {false, true}) {
    loops.accumulate(left.data(), kChannels, kChannels, right.data(), kChannels, kChannels, kTiles, sum.data(),
                     kChannels, again);
  }
  add(sum);
  return all;
}

}  // namespace

TEST_CASE("isa: Winograd's loops give the same bits with AVX2" * doctest::test_suite("needs AVX2")) {
  KUSARI_SKIP_BELOW(v3);
  CHECK(winograd_results(*v3::winograd_loops()) == winograd_results(*v1::winograd_loops()));
}
TEST_CASE("isa: Winograd's loops give the same bits with AVX-512" * doctest::test_suite("needs AVX-512")) {
  KUSARI_SKIP_BELOW(v4);
  CHECK(winograd_results(*v4::winograd_loops()) == winograd_results(*v1::winograd_loops()));
}

#endif
