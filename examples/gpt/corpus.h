#pragma once

#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/generated_words.h"

// A text as numbers of characters, the last tenth of which is for validation.
struct Characters {
  kusari::datasets::Vocabulary vocabulary;
  kusari::Array train, val;
};

inline Characters split_characters(kusari::datasets::TextCorpus corpus) {
  const kusari::Array& text = corpus.texts.at(0);
  const int64_t train = text.size() * 9 / 10;
  return {std::move(corpus.vocabulary), text.slice(0, 0, train), text.slice(0, train, text.size() - train)};
}

// "shakespeare": tiny Shakespeare, downloaded if need be. "generated": a grammar's sentences. "auto": the former where
// it lies below the folder for data sets (KUSARI_DATASET_ROOT), else the latter. Otherwise the characters of that file.
inline Characters load_characters(const std::string& data) {
  using namespace kusari;
  namespace fs = std::filesystem;
  if (data == "shakespeare") return split_characters(datasets::get_tiny_shakespeare());
  if (data == "generated") {
    const random::LocalStream same_text(1);  // for every program that reads it
    std::vector<std::string> characters;
    for (const std::string& word : generate_words(20000)) {
      if (word == "<eos>") {
        characters.back() = "\n";
        continue;
      }
      for (const char c : word) characters.emplace_back(1, c);
      characters.emplace_back(" ");
    }
    datasets::TextCorpus corpus{datasets::Vocabulary(characters), {}};
    corpus.texts.push_back(corpus.vocabulary.encode(characters));
    return split_characters(std::move(corpus));
  }
  if (data != "auto") return split_characters(datasets::read_character_corpus({data}));
  const fs::path root = datasets::dataset_root();
  if (fs::is_regular_file(root / "tinyshakespeare/input.txt")) return load_characters("shakespeare");
  std::printf("Text: none in %s, so a generated one\n", root.c_str());
  return load_characters("generated");
}
