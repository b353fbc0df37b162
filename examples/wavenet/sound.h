#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numbers>
#include <string>
#include <vector>

#include <kusari/kusari.h>

struct Sound {
  int64_t rate = 0;            // samples a second
  std::vector<float> samples;  // -1 .. 1
};

// Numbers as 16-bit integers of a WAV file with one channel. Throws IoError.
inline void write_wav(const std::string& path, const Sound& sound) {
  std::string bytes;
  const auto number = [&](uint32_t value, int size) {
    for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  };
  const auto size = static_cast<uint32_t>(2 * sound.samples.size()), rate = static_cast<uint32_t>(sound.rate);
  bytes += "RIFF";
  number(36 + size, 4);
  bytes += "WAVEfmt ";
  number(16, 4);
  number(1, 2);  // integers
  number(1, 2);  // channels
  number(rate, 4);
  number(2 * rate, 4);
  number(2, 2);
  number(16, 2);
  bytes += "data";
  number(size, 4);
  for (const float sample : sound.samples) {
    number(static_cast<uint16_t>(static_cast<int16_t>(std::lround(32767 * std::clamp(sample, -1.f, 1.f)))), 2);
  }
  std::ofstream file(path, std::ios::binary);
  if (!(file << bytes).flush()) throw kusari::IoError("cannot write " + path);
}

// A WAV file of 16-bit integers; of several channels the first. Throws IoError.
inline Sound read_wav(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto fail = [&](const char* why) { throw kusari::IoError(path + ": " + why); };
  const auto number = [&](size_t at, size_t size) {
    if (at + size > bytes.size()) fail("the file ends too early");
    uint32_t value = 0;
    for (size_t i = 0; i < size; ++i) value |= static_cast<uint32_t>(static_cast<uint8_t>(bytes[at + i])) << (8 * i);
    return value;
  };
  if (bytes.compare(0, 4, "RIFF") != 0 || bytes.compare(8, 4, "WAVE") != 0) fail("no WAV file");
  Sound sound;
  size_t channels = 0;
  for (size_t at = 12; at + 8 <= bytes.size();) {
    const std::string kind = bytes.substr(at, 4);
    const size_t size = number(at + 4, 4), begin = at + 8;
    if (kind == "fmt ") {
      if (number(begin, 2) != 1 || number(begin + 14, 2) != 16) fail("its numbers are no 16-bit integers");
      channels = number(begin + 2, 2);
      sound.rate = number(begin + 4, 4);
    } else if (kind == "data") {
      if (channels == 0) fail("it does not say what its numbers are");
      const size_t end = std::min(begin + size, bytes.size());
      for (size_t i = begin; i + 2 * channels <= end; i += 2 * channels) {
        sound.samples.push_back(static_cast<float>(static_cast<int16_t>(number(i, 2))) / 32768.f);
      }
      return sound;
    }
    at = begin + size + size % 2;
  }
  fail("it has no sound");
  return sound;
}

// A melody where there are no files: half a second for each note of a pentatonic scale, of five harmonics that fade,
// each faster than the one below. The same for the same seed.
inline Sound drawn_melody(int64_t length, uint64_t seed, int64_t rate = 4000) {
  kusari::datasets::ExampleRandom random(seed);
  Sound sound{rate, std::vector<float>(static_cast<size_t>(length))};
  constexpr double kScale[] = {0, 2, 4, 7, 9, 12};
  const auto note_length = static_cast<size_t>(rate / 2);
  for (size_t begin = 0; begin < sound.samples.size(); begin += note_length) {
    const double pitch = 220 * std::exp2(kScale[random.integer(std::size(kScale))] / 12);
    for (size_t i = begin; i < std::min(begin + note_length, sound.samples.size()); ++i) {
      const double t = static_cast<double>(i - begin) / static_cast<double>(rate);
      double value = 0;
      for (int k = 1; k <= 5; ++k) {
        value += std::exp(-2.0 * k * t) / k * std::sin(2 * std::numbers::pi * k * pitch * t);
      }
      sound.samples[i] = static_cast<float>(0.4 * value);
    }
  }
  return sound;
}

// The sounds of all WAV files in a folder and those below it, or so many drawn melodies of 4 seconds for "generated".
// Throws IoError.
inline std::vector<Sound> load_sounds(const std::string& data, int64_t melodies) {
  std::vector<Sound> sounds;
  if (data == "generated") {
    for (int64_t i = 0; i < melodies; ++i) sounds.push_back(drawn_melody(16000, static_cast<uint64_t>(i)));
    return sounds;
  }
  std::vector<std::string> paths;
  if (std::filesystem::is_directory(data)) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(data)) {
      if (entry.path().extension() == ".wav") paths.push_back(entry.path().string());
    }
  }
  if (paths.empty()) throw kusari::IoError("there is no WAV file in " + data);
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) sounds.push_back(read_wav(path));
  return sounds;
}

// Amplitudes of -1 .. 1 as one of `levels` numbers, closer to each other where sounds are low (ITU-T G.711), and back.
inline int32_t mu_law(float sample, int64_t levels) {
  const double mu = static_cast<double>(levels - 1);
  const double y = std::copysign(std::log1p(mu * std::abs(sample)) / std::log1p(mu), sample);
  return static_cast<int32_t>(std::clamp<double>(std::floor((y + 1) / 2 * mu + 0.5), 0, mu));
}
inline float mu_law_inverse(int32_t level, int64_t levels) {
  const double mu = static_cast<double>(levels - 1), y = 2 * level / mu - 1;
  return static_cast<float>(std::copysign(std::expm1(std::abs(y) * std::log1p(mu)) / mu, y));
}

constexpr int64_t kHop = 64;      // samples of a frame of the spectrum
constexpr int64_t kWindow = 256;  // samples that such a frame is computed of
constexpr int64_t kBands = 20;

// How loud a sound is in bands of frequencies, which are wider the higher they are: (kBands, samples / kHop) of
// float32, logarithms that are mostly within -1 .. 1.
inline kusari::Array log_spectrum(const std::vector<float>& samples) {
  using namespace kusari;
  const auto frames = static_cast<int64_t>(samples.size()) / kHop;
  std::vector<float> windows(static_cast<size_t>(frames * kWindow));
  for (int64_t f = 0; f < frames; ++f) {
    for (int64_t i = 0; i < kWindow; ++i) {
      const int64_t at = f * kHop + (kHop - kWindow) / 2 + i;
      const double weight = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) / kWindow);  // Hann's
      const bool inside = at >= 0 && at < static_cast<int64_t>(samples.size());
      windows[static_cast<size_t>(f * kWindow + i)] =
          inside ? static_cast<float>(weight) * samples[static_cast<size_t>(at)] : 0.f;
    }
  }
  constexpr int64_t kHalf = kWindow / 2;
  std::vector<float> bands(static_cast<size_t>(kHalf * kBands));
  for (int64_t k = 0; k < kHalf; ++k) {
    const double place = kBands * std::log1p(8.0 * static_cast<double>(k) / kHalf) / std::log1p(8.0);
    for (int64_t b = 0; b < kBands; ++b) {
      bands[static_cast<size_t>(k * kBands + b)] =
          static_cast<float>(std::max(0.0, 1 - std::abs(place - static_cast<double>(b) - 0.5)));
    }
  }
  const auto no_graph = no_backprop_mode();
  const Variable x(array(windows, {frames, kWindow}), false);
  const Variables parts = F::fft({x, Variable(zeros_like(x.array()), false)});
  const Variable power = F::get_item(F::square(parts[0]) + F::square(parts[1]), {Slice{}, Slice{0, kHalf}});
  const Variable loud = F::matmul(power, Variable(array(bands, {kHalf, kBands}), false));
  return F::transpose((F::log(loud + 1e-4) - 1) / 5).array().copy();
}

// Pieces of sounds: amplitudes to read, the spectrum, and each next amplitude.
class Pieces final : public kusari::datasets::Dataset {
 public:
  Pieces(std::vector<Sound> sounds, int64_t length, int64_t levels)
      : sounds_{std::move(sounds)}, length_{length}, levels_{levels} {
    for (size_t s = 0; s < sounds_.size(); ++s) {
      const auto samples = static_cast<int64_t>(sounds_[s].samples.size());
      for (int64_t begin = 0; begin + length < samples; begin += length) places_.push_back({s, begin});
    }
    if (places_.empty()) {
      throw kusari::ValueError("there is no sound of more than " + std::to_string(length) + " samples");
    }
  }

  int64_t size() const override { return static_cast<int64_t>(places_.size()); }

  kusari::datasets::Example get(int64_t i) const override {
    check_index("Pieces::get", i, size());
    const auto [s, begin] = places_[static_cast<size_t>(i)];
    const auto first = sounds_[s].samples.begin() + begin;
    std::vector<int32_t> levels;
    std::transform(first, first + length_ + 1, std::back_inserter(levels),
                   [&](float sample) { return mu_law(sample, levels_); });
    const kusari::Array all = kusari::array(levels);
    // The frame of a sample is that of the one which it leads to.
    return {all.slice(0, 0, length_), log_spectrum({first + 1, first + length_ + 1}), all.slice(0, 1, length_)};
  }

 private:
  struct Place {
    size_t sound;
    int64_t begin;
  };
  std::vector<Sound> sounds_;
  int64_t length_, levels_;
  std::vector<Place> places_;
};
