#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <kusari/kusari.h>
#include <nlohmann/json.hpp>

// What a model is made of: train_gpt writes it beside the model, generate reads it.
struct Sizes {
  int64_t layers = 4, heads = 4, width = 128, block = 64;
  double dropout = 0;
};

inline kusari::L::TransformerLM make_model(int64_t characters, const Sizes& s) {
  return kusari::L::TransformerLM(
      characters, {.block = s.block, .layers = s.layers, .heads = s.heads, .width = s.width, .dropout = s.dropout});
}

inline void save_sizes(const std::string& path, const Sizes& s, const std::string& data) {
  std::ofstream(path) << nlohmann::json{
      {"layers", s.layers}, {"heads", s.heads}, {"width", s.width}, {"block", s.block}, {"data", data}};
}

inline Sizes load_sizes(const std::string& path, std::string& data) {
  std::ifstream file(path);
  if (!file) throw kusari::IoError(path + " cannot be read: train_gpt writes it");
  const auto json = nlohmann::json::parse(file);
  data = json.at("data").get<std::string>();
  return {.layers = json.at("layers").get<int64_t>(),
          .heads = json.at("heads").get<int64_t>(),
          .width = json.at("width").get<int64_t>(),
          .block = json.at("block").get<int64_t>()};
}

// `count` characters that follow `text`, printed one by one. A text that is longer than a block goes on from its last
// half, read anew.
inline void print_text(const kusari::L::TransformerLM& model, const kusari::datasets::Vocabulary& vocabulary,
                       const kusari::Array& text, int64_t count, const kusari::GenerateOptions& options) {
  using namespace kusari;
  std::vector<int64_t> ids = text.to_vector<int64_t>();
  KVCache cache = model.cache();
  GenerateOptions each = options;
  int64_t left = count;
  each.on_token = [&](int64_t id) {
    std::printf("%s", vocabulary.word(id).c_str());
    std::fflush(stdout);
    ids.push_back(id);
    return --left > 0;
  };
  for (int64_t part = 0; left > 0; ++part) {
    const auto kept = std::min(static_cast<int64_t>(ids.size()), part == 0 ? model.block() : model.block() / 2 + 1);
    const std::vector<int64_t> last(ids.end() - std::min(kept, model.block()), ids.end());
    cache.truncate(0);
    each.max_new = std::max<int64_t>(1, model.block() - static_cast<int64_t>(last.size()));
    if (options.seed) each.seed = *options.seed + static_cast<uint64_t>(part);
    generate([&](const Variable& x) { return model.next(x, &cache); }, array(last).to_device(model.device()), each);
  }
}
