#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/generated_words.h"

// Texts with labels: examples of int32 words, (length), and a label.
class LabeledTexts : public kusari::datasets::Dataset {
 public:
  void add(const kusari::Array& words, int32_t label) {
    texts_.push_back({words, kusari::array(std::vector<int32_t>{label}, {})});
  }
  int64_t size() const override { return static_cast<int64_t>(texts_.size()); }
  kusari::datasets::Example get(int64_t i) const override {
    check_index("LabeledTexts", i, size());
    return texts_[static_cast<size_t>(i)];
  }

 private:
  std::vector<kusari::datasets::Example> texts_;
};

struct TextCollection {
  kusari::datasets::Vocabulary words, labels;
  LabeledTexts train, test;
};

struct LabeledText {
  std::string label;
  std::vector<std::string> words;
};

// Texts of several sentences, most of them about the thing that is the label.
inline std::vector<LabeledText> generate_texts(int64_t count) {
  const std::vector<std::string> words = generate_words(20000);
  std::vector<std::vector<std::string>> sentences(1);
  for (const std::string& word : words) {
    if (word == "<eos>") {
      sentences.emplace_back();
    } else {
      sentences.back().push_back(word);
    }
  }
  sentences.pop_back();
  const auto topic_of = [](const std::vector<std::string>& sentence) {
    const std::string& verb = sentence[1];
    if (verb == "eats" || verb == "wants" || verb == "smells") return "animals";
    return verb == "drives" || verb == "sells" || verb == "paints" ? "people" : "weather";
  };
  std::vector<LabeledText> texts;
  for (int64_t i = 0; i < count; ++i) {
    LabeledText text{topic_of(sentences[kusari::random::bits() % sentences.size()]), {}};
    const uint64_t length = 2 + kusari::random::bits() % 5;
    for (uint64_t k = 0; k < length;) {
      const auto& sentence = sentences[kusari::random::bits() % sentences.size()];
      const bool fits = topic_of(sentence) == text.label;
      if (!fits && (k + 1) * 3 > length) continue;  // fewer than a third about other things, and first
      text.words.insert(text.words.end(), sentence.begin(), sentence.end());
      ++k;
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

// A line for each text: its label, then its words.
inline std::vector<LabeledText> read_texts(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw kusari::IoError(path + " cannot be read");
  std::vector<LabeledText> texts;
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> words = kusari::datasets::split_words(line, "");
    if (words.size() < 2) continue;
    texts.push_back({words[0], {std::make_move_iterator(words.begin() + 1), std::make_move_iterator(words.end())}});
  }
  return texts;
}

// The words of a text, or its characters, with spaces.
inline std::vector<std::string> pieces_of(const std::vector<std::string>& words, bool by_characters) {
  if (!by_characters) return words;
  std::vector<std::string> characters;
  for (const std::string& word : words) {
    for (const char c : word) characters.emplace_back(1, c);
    characters.emplace_back(" ");
  }
  return characters;
}

// Those of a file, or generated ones ("generated"); each tenth is for the test.
inline TextCollection load_texts(const std::string& data, bool by_characters, int64_t most_words) {
  using namespace kusari;
  std::vector<LabeledText> texts;
  if (data == "generated") {
    const random::LocalStream same_texts(1);
    texts = generate_texts(3000);
  } else {
    texts = read_texts(data);
  }
  for (LabeledText& text : texts) text.words = pieces_of(text.words, by_characters);
  std::vector<std::string> all;
  TextCollection result;
  for (const LabeledText& text : texts) {
    all.insert(all.end(), text.words.begin(), text.words.end());
    result.labels.add(text.label);
  }
  result.words = datasets::Vocabulary(all, {.min_count = 2, .max_size = most_words, .unknown = "<unk>"});
  for (size_t i = 0; i < texts.size(); ++i) {
    LabeledTexts& part = i % 10 == 9 ? result.test : result.train;
    part.add(result.words.encode(texts[i].words), result.labels.id(texts[i].label));
  }
  return result;
}
