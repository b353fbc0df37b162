#include <cmath>
#include <fstream>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/examples/wavenet/net.h"
#include "kusari/examples/wavenet/player.h"
#include "kusari/examples/wavenet/sound.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari::wavenet_test {
namespace {

using testing::ScratchDirectory;

const WaveNetSizes kSmall{.n_loop = 2, .n_layer = 3, .a_channels = 8, .r_channels = 4, .s_channels = 5};

Variable levels(const std::vector<int32_t>& values) {
  return Variable(array(values, {1, static_cast<int64_t>(values.size())}), false);
}

TEST_CASE("amplitudes as numbers, and back") {
  CHECK(mu_law(-1, 256) == 0);
  CHECK(mu_law(0, 256) == 128);
  CHECK(mu_law(1, 256) == 255);
  for (int32_t level = 0; level < 256; ++level) CHECK(mu_law(mu_law_inverse(level, 256), 256) == level);
  // Steps are finer where sounds are low: 1 / 5500 at 0, 1 / 25 at 1.
  CHECK(std::abs(mu_law_inverse(128, 256) - mu_law_inverse(127, 256)) < 2e-4);
  CHECK(std::abs(mu_law_inverse(255, 256) - mu_law_inverse(254, 256)) > 4e-2);
}

TEST_CASE("WAV files") {
  const ScratchDirectory scratch;
  const std::string path = scratch / "a.wav";
  write_wav(path, {4000, {0.f, 0.5f, -1.f, 2.f}});
  const Sound sound = read_wav(path);
  CHECK(sound.rate == 4000);
  REQUIRE(sound.samples.size() == 4);
  CHECK(sound.samples[1] == doctest::Approx(0.5).epsilon(1e-4));
  CHECK(sound.samples[2] == doctest::Approx(-1).epsilon(1e-4));
  CHECK(sound.samples[3] == doctest::Approx(1).epsilon(1e-4));
  std::ofstream(path) << "RIFF....WAVEdata....";
  CHECK_THROWS_WITH_AS(read_wav(path), (path + ": it does not say what its numbers are").c_str(), IoError);
  CHECK_THROWS_WITH_AS(load_sounds(scratch / "none", 1), ("there is no WAV file in " + (scratch / "none")).c_str(),
                       IoError);
}

TEST_CASE("a spectrum tells a low tone from a high one, and loud ones from silence") {
  const auto tone = [](double frequency) {
    std::vector<float> samples(1024);
    for (size_t i = 0; i < samples.size(); ++i) {
      samples[i] = static_cast<float>(0.5 * std::sin(2 * std::numbers::pi * frequency * static_cast<double>(i)));
    }
    return log_spectrum(samples);
  };
  const auto loudest = [](const Array& spectrum) {
    return xp::argmax(spectrum.slice(1, 8, 1).reshape({kBands}), 0).item<int64_t>();
  };
  const Array low = tone(0.02), high = tone(0.4);
  CHECK(low.shape() == Shape{kBands, 16});
  CHECK(loudest(low) < loudest(high));
  CHECK(xp::max(low).item<float>() > 0.4);
  CHECK(xp::max(log_spectrum(std::vector<float>(1024))).item<float>() < -1);
}

TEST_CASE("WaveNet sees what was, as far as its receptive field, and nothing that comes") {
  random::seed(0);
  const WaveNet net(kBands, kSmall);
  const auto no_graph = no_backprop_mode();
  const Variable spectrum(random::normal({1, kBands, 1}), false);
  std::vector<int32_t> sound(64, 3);
  const Array before = net(levels(sound), spectrum).array();
  CHECK(before.shape() == Shape{1, 8, 64});
  sound[20] = 5;
  const Array changed = xp::max(before != net(levels(sound), spectrum).array(), {0, 1});
  const std::vector<bool> places = [&] {
    std::vector<bool> result;
    for (const int value : changed.astype(Dtype::int32).to_vector<int>()) result.push_back(value != 0);
    return result;
  }();
  const int64_t last = 20 + kSmall.receptive_field() - 1;
  for (int64_t i = 0; i < 64; ++i) {
    CAPTURE(i);
    if (i < 20 || i > last) CHECK(!places[static_cast<size_t>(i)]);
  }
  CHECK(places[20]);
  CHECK(places[static_cast<size_t>(last)]);
}

TEST_CASE("a sound sample by sample has the scores of the whole one") {
  random::seed(1);
  const WaveNet net(kBands, kSmall);
  const auto no_graph = no_backprop_mode();
  const Variable spectrum(random::normal({1, kBands, 2}), false);
  const std::vector<int32_t> sound =
      random::uniform({64}, {.low = 0, .high = 8}).astype(Dtype::int32).to_vector<int32_t>();
  const std::vector<double> whole = net(levels(sound), spectrum).to_vector<double>();
  Player player(net, spectrum, 32);
  for (size_t i = 0; i < sound.size(); ++i) {
    CAPTURE(i);
    const std::vector<double> scores = player(sound[i]).to_vector<double>();
    REQUIRE(scores.size() == 8);
    // The padding in front of a sound is 0 in the blocks too, as what a player has seen before it.
    for (size_t k = 0; k < 8; ++k) CHECK(scores[k] == doctest::Approx(whole[k * sound.size() + i]).epsilon(1e-4));
  }
}

}  // namespace
}  // namespace kusari::wavenet_test
