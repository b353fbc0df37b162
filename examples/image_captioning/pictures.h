#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/lines.h"
#include "kusari/examples/sentences.h"

// A file, and what people say of it.
struct Picture {
  std::string path;
  std::vector<Words> captions;
};

// Lines "name<tab>caption"; Flickr8k's "name.jpg#0<tab>caption" too. A picture may have several, in a row or not; they
// come in the order of their first lines. Captions in lower case.
inline std::vector<Picture> read_captions(const std::string& folder, const std::string& path) {
  const std::vector<std::string> lines = read_lines(path);
  std::vector<Picture> pictures;
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    const size_t tab = lines[i].find('\t');
    std::string text = tab == std::string::npos ? "" : lines[i].substr(tab + 1);
    for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const Words words = kusari::datasets::split_words(text, "");
    if (words.empty()) {
      throw kusari::ValueError(path + ":" + std::to_string(i + 1) + ": \"" + lines[i] +
                               "\" is not a name, a tab and a caption");
    }
    std::string name = lines[i].substr(0, tab);
    const size_t hash = name.rfind('#');
    if (hash != std::string::npos && name.find_first_not_of("0123456789", hash + 1) == std::string::npos) {
      name.resize(hash);
    }
    const auto [place, is_new] = places.try_emplace(name, pictures.size());
    if (is_new) pictures.push_back({(std::filesystem::path(folder) / name).string(), {}});
    pictures[place->second].captions.push_back(words);
  }
  return pictures;
}

// Draws pictures of 32x32 with one thing each into a folder, and captions.txt there: "a red square on the left".
// Each of the 24 captions comes `times` times.
inline void draw_pictures(const std::string& folder, int times) {
  using kusari::random::bits;
  const std::vector<std::pair<std::string, std::vector<int>>> colours = {
      {"red", {230, 40, 40}}, {"green", {40, 200, 60}}, {"blue", {50, 80, 240}}, {"yellow", {240, 220, 40}}};
  const std::vector<std::string> shapes = {"square", "cross", "bar"};
  const auto is_inside = [](const std::string& shape, double x, double y, double r) {
    const double across = std::abs(x), along = std::abs(y);
    if (shape == "square") return std::max(across, along) <= 0.8 * r;
    if (shape == "bar") return across <= r && along <= 0.3 * r;
    return std::max(across, along) <= r && std::min(across, along) <= 0.25 * r;
  };
  std::filesystem::create_directories(folder);
  std::ofstream captions(std::filesystem::path(folder) / "captions.txt");
  for (int i = 0; i < 24 * times; ++i) {
    const auto& [colour, rgb] = colours[static_cast<size_t>(i % 4)];
    const std::string& shape = shapes[static_cast<size_t>(i / 4 % 3)];
    const bool is_left = i / 12 % 2 == 1;
    const double r = 6 + static_cast<double>(bits() % 25) / 10;
    const double x = (is_left ? 8 : 22) + static_cast<double>(bits() % 3), y = 9 + static_cast<double>(bits() % 14);
    const int ground = static_cast<int>(bits() % 60);
    std::vector<uint8_t> pixels;
    for (size_t c = 0; c < 3; ++c) {
      for (int row = 0; row < 32; ++row) {
        for (int column = 0; column < 32; ++column) {
          const int level = is_inside(shape, column - x, row - y, r) ? rgb[c] : ground;
          pixels.push_back(static_cast<uint8_t>(std::clamp(level + static_cast<int>(bits() % 21) - 10, 0, 255)));
        }
      }
    }
    const std::string name = std::to_string(i) + ".png";
    kusari::datasets::save_png((std::filesystem::path(folder) / name).string(), kusari::array(pixels, {3, 32, 32}));
    captions << name << "\ta " << colour << " " << shape << " on the " << (is_left ? "left" : "right") << "\n";
  }
}

// Examples: a picture as the network takes it, and of one of its captions what is read and said.
class CaptionDataset : public kusari::datasets::Dataset {
 public:
  CaptionDataset(std::span<const Picture> pictures, const kusari::datasets::Vocabulary& words,
                 const kusari::L::ImagePreparation& preparation)
      : preparation_{preparation} {
    for (const Picture& picture : pictures) {
      for (const Words& caption : picture.captions) {
        const auto [read, said] = read_and_said(ids_of(words, caption));
        captions_.push_back({picture.path, read, said});
      }
    }
  }
  int64_t size() const override { return static_cast<int64_t>(captions_.size()); }
  kusari::datasets::Example get(int64_t i) const override {
    check_index("CaptionDataset", i, size());
    const Caption& caption = captions_[static_cast<size_t>(i)];
    return {load(caption.path, preparation_), caption.read, caption.said};
  }
  static kusari::Array load(const std::string& path, const kusari::L::ImagePreparation& preparation) {
    return kusari::L::prepare(kusari::datasets::read_image(path), preparation, preparation.size);
  }

 private:
  struct Caption {
    std::string path;
    kusari::Array read, said;
  };
  std::vector<Caption> captions_;
  kusari::L::ImagePreparation preparation_;
};

// A converter: the pictures as one array, and the captions packed, with their lengths.
inline kusari::datasets::Example join_captions(std::span<const kusari::datasets::Example> batch,
                                               const kusari::Device& device) {
  std::vector<kusari::datasets::Example> pictures, captions;
  for (const auto& example : batch) {
    pictures.push_back({example[0]});
    captions.push_back({example[1], example[2]});
  }
  kusari::datasets::Example joined = kusari::datasets::concat_examples(pictures, device);
  for (const kusari::Array& array : kusari::datasets::pack_sequences(captions, device)) joined.push_back(array);
  return joined;
}
