#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/generated_words.h"

// Words as numbers.
struct Corpus {
  kusari::datasets::Vocabulary vocabulary;
  std::vector<int32_t> train, val;
};

// Words of one text, the last tenth of which is for validation.
inline Corpus make_corpus(const std::vector<std::string>& words) {
  Corpus corpus;
  corpus.vocabulary = kusari::datasets::Vocabulary(words);
  for (const std::string& word : words) corpus.train.push_back(corpus.vocabulary.id(word));
  const auto end = corpus.train.end() - static_cast<std::ptrdiff_t>(words.size() / 10);
  corpus.val.assign(end, corpus.train.end());
  corpus.train.erase(end, corpus.train.end());
  return corpus;
}

// "generated": a grammar's sentences. "ptb": the Penn Treebank, downloaded if need be. "auto": the first text that lies
// below the folder for data sets (KUSARI_DATASET_ROOT), else "generated". Otherwise the words of that file.
inline Corpus load_corpus(const std::string& data) {
  using namespace kusari;
  namespace fs = std::filesystem;
  if (data == "generated") return make_corpus(generate_words(20000));
  if (data == "ptb") {
    const datasets::WordSplits splits = datasets::get_ptb_words();
    return {datasets::get_ptb_words_vocabulary(), splits.train.to_vector<int32_t>(), splits.valid.to_vector<int32_t>()};
  }
  if (data != "auto") return make_corpus(datasets::read_words(data));
  const fs::path root = datasets::dataset_root();
  for (const char* const name : {"wikitext-2/train.txt", "wikitext-2/valid.txt", "tinyshakespeare/input.txt"}) {
    if (!fs::is_regular_file(root / name)) continue;
    std::printf("Text: %s\n", (root / name).c_str());
    return make_corpus(datasets::read_words((root / name).string()));
  }
  std::printf("Text: none in %s, so a generated one\n", datasets::dataset_root().c_str());
  return load_corpus("generated");
}
