#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/lines.h"
#include "kusari/examples/sentences.h"

// Pairs of sentences. An example is the source backwards (Sutskever et al. 2014), the target behind an end mark, which
// the decoder reads, and the target with one behind it, which it should say.
class SentencePairs : public kusari::datasets::Dataset {
 public:
  void add(std::vector<int32_t> source, const std::vector<int32_t>& target) {
    lengths_.push_back(static_cast<int64_t>(source.size()));
    const auto [read, said] = read_and_said(target);
    pairs_.push_back({kusari::array(std::vector<int32_t>(source.rbegin(), source.rend())), read, said});
  }
  int64_t size() const override { return static_cast<int64_t>(pairs_.size()); }
  kusari::datasets::Example get(int64_t i) const override {
    check_index("SentencePairs", i, size());
    return pairs_[static_cast<size_t>(i)];
  }
  const std::vector<int64_t>& lengths() const { return lengths_; }  // of the sources

 private:
  std::vector<kusari::datasets::Example> pairs_;
  std::vector<int64_t> lengths_;
};

struct Corpus {
  kusari::datasets::Vocabulary source, target;
  SentencePairs train, validation;
};

using Lines = std::vector<Words>;

// Numbers in words, and their digits: "seven hundred forty two" is "7 4 2".
inline std::pair<Lines, Lines> spelled_numbers(int64_t count) {
  const char* const small[] = {"zero",     "one",     "two",     "three",     "four",     "five",    "six",
                               "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",  "thirteen",
                               "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
  const char* const tens[] = {"", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"};
  const auto below_thousand = [&](uint64_t n, std::vector<std::string>* words) {
    if (n >= 100) words->insert(words->end(), {small[n / 100], "hundred"});
    n %= 100;
    if (n >= 20) words->push_back(tens[n / 10]);
    if (n >= 20 ? n % 10 > 0 : n > 0) words->push_back(small[n >= 20 ? n % 10 : n]);
  };
  std::pair<Lines, Lines> lines;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t n = 1 + kusari::random::bits() % 9999;
    std::vector<std::string> words, digits;
    if (n >= 1000) {
      below_thousand(n / 1000, &words);
      words.push_back("thousand");
    }
    below_thousand(n % 1000, &words);
    for (const char digit : std::to_string(n)) digits.emplace_back(1, digit);
    lines.first.push_back(words);
    lines.second.push_back(digits);
  }
  return lines;
}

inline Lines read_sentences(const std::string& path) {
  Lines sentences;
  for (const std::string& line : read_lines(path)) sentences.push_back(kusari::datasets::split_words(line, ""));
  return sentences;
}

// Pairs whose sentences have from 1 to `longest` words.
inline SentencePairs make_pairs(const Corpus& corpus, const Lines& source, const Lines& target, size_t longest) {
  if (source.size() != target.size()) {
    throw kusari::ValueError("there are " + std::to_string(source.size()) + " source and " +
                             std::to_string(target.size()) + " target sentences: each needs its translation");
  }
  SentencePairs pairs;
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i].empty() || target[i].empty() || source[i].size() > longest || target[i].size() > longest) continue;
    pairs.add(ids_of(corpus.source, source[i]), ids_of(corpus.target, target[i]));
  }
  return pairs;
}

// Of the files, or of spelled numbers without any. Without validation files the last tenth is for that.
inline Corpus load_corpus(const std::string& source_path, const std::string& target_path,
                          const std::string& validation_source, const std::string& validation_target, int64_t words,
                          size_t longest) {
  Lines source, target;
  if (source_path.empty()) {
    const kusari::random::LocalStream same_numbers(1);
    std::tie(source, target) = spelled_numbers(6000);
  } else {
    source = read_sentences(source_path);
    target = read_sentences(target_path);
  }
  Corpus corpus{make_vocabulary(source, words), make_vocabulary(target, words), {}, {}};
  if (!validation_source.empty()) {
    corpus.validation =
        make_pairs(corpus, read_sentences(validation_source), read_sentences(validation_target), longest);
    corpus.train = make_pairs(corpus, source, target, longest);
    return corpus;
  }
  const auto first = static_cast<std::ptrdiff_t>(source.size() - source.size() / 10);
  const auto tail = [&](const Lines& lines) {
    return Lines(lines.begin() + std::min<std::ptrdiff_t>(first, std::ssize(lines)), lines.end());
  };
  corpus.validation = make_pairs(corpus, tail(source), tail(target), longest);
  source.resize(static_cast<size_t>(first));
  target.resize(std::min(target.size(), static_cast<size_t>(first)));
  corpus.train = make_pairs(corpus, source, target, longest);
  return corpus;
}
