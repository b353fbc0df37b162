#pragma once

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/generated_words.h"

// Texts as numbers of words.
struct Corpus {
  kusari::datasets::Vocabulary vocabulary;
  kusari::datasets::WordSplits texts;
};

// One text, a tenth of which is for validation and a tenth for the test.
inline Corpus make_corpus(const std::vector<std::string>& words) {
  Corpus corpus;
  corpus.vocabulary = kusari::datasets::Vocabulary(words);
  const kusari::Array ids = corpus.vocabulary.encode(words);
  const int64_t tenth = ids.size() / 10, train = ids.size() - 2 * tenth;
  corpus.texts = {ids.slice(0, 0, train), ids.slice(0, train, tenth), ids.slice(0, train + tenth, tenth)};
  return corpus;
}

// "generated": a grammar's sentences. "ptb": the Penn Treebank, "wikitext2": WikiText-2, downloaded if need be. "auto":
// what lies below the folder for data sets (KUSARI_DATASET_ROOT), else "generated". Otherwise the
// words of that file.
inline Corpus load_corpus(const std::string& data) {
  using namespace kusari;
  namespace fs = std::filesystem;
  if (data == "generated") {
    const random::LocalStream same_text(1);  // for every program that reads it
    return make_corpus(generate_words(20000));
  }
  if (data == "ptb") return {datasets::get_ptb_words_vocabulary(), datasets::get_ptb_words()};
  if (data == "wikitext2") return {datasets::get_wikitext2_words_vocabulary(), datasets::get_wikitext2_words()};
  if (data != "auto") return make_corpus(datasets::read_words(data));
  const fs::path root = datasets::dataset_root();
  const auto has = [&](const char* file) { return fs::is_regular_file(root / file); };
  if (has("ptb/ptb.train.txt") || has("ptb/ptb.train.txt.gz")) return load_corpus("ptb");
  if (has("wikitext-2/wiki.train.tokens") || has("wikitext-2/train.txt")) return load_corpus("wikitext2");
  if (has("wikitext-2/valid.txt")) return load_corpus((root / "wikitext-2/valid.txt").string());
  std::printf("Text: none in %s, so a generated one\n", root.c_str());
  return load_corpus("generated");
}
