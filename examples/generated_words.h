#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <kusari/kusari.h>

// Sentences of a small grammar, in which words of a kind stand in the same places.
inline std::vector<std::string> generate_words(int64_t n_sentences) {
  using Kinds = std::vector<std::vector<std::string>>;
  const std::vector<Kinds> topics = {{{"cat", "dog", "horse", "mouse"},
                                      {"eats", "wants", "smells"},
                                      {"fresh", "old", "sweet"},
                                      {"bread", "meat", "fish", "apples"}},
                                     {{"alice", "bob", "carol", "dave"},
                                      {"drives", "sells", "paints"},
                                      {"fast", "green", "small"},
                                      {"cars", "boats", "trains", "planes"}},
                                     {{"rain", "snow", "wind", "fog"},
                                      {"comes", "falls", "ends"},
                                      {"late", "early", "again"},
                                      {"today", "tomorrow", "tonight", "soon"}}};
  const auto draw = [](size_t n) { return static_cast<size_t>(kusari::random::bits() % n); };
  std::vector<std::string> words;
  for (int64_t i = 0; i < n_sentences; ++i) {
    for (const auto& kind : topics[draw(topics.size())]) words.push_back(kind[draw(kind.size())]);
    words.push_back("<eos>");
  }
  return words;
}
