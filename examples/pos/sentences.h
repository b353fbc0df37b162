#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/lines.h"

// The words of a sentence, and for each its part of speech.
struct TaggedSentence {
  std::vector<std::string> words, tags;
};

// Lines "the/DET dog/NOUN": a tag stands behind the last slash of its word.
inline std::vector<TaggedSentence> parse_slashes(const std::vector<std::string>& lines, const std::string& name) {
  std::vector<TaggedSentence> sentences;
  for (size_t i = 0; i < lines.size(); ++i) {
    TaggedSentence sentence;
    for (const std::string& token : kusari::datasets::split_words(lines[i], "")) {
      const size_t slash = token.rfind('/');
      if (slash == std::string::npos || slash == 0 || slash + 1 == token.size()) {
        throw kusari::ValueError(name + ":" + std::to_string(i + 1) + ": \"" + token + "\" is not word/TAG");
      }
      sentence.words.push_back(token.substr(0, slash));
      sentence.tags.push_back(token.substr(slash + 1));
    }
    if (!sentence.words.empty()) sentences.push_back(std::move(sentence));
  }
  return sentences;
}

// CoNLL's form: a line for each word, with its tag in another column, and an empty line behind each sentence. In
// CoNLL-U, where columns stand between tabs, these are columns 2 and 4, lines with # are comments, and those of several
// words at once ("3-4") or of none ("5.1") are passed over; otherwise columns 1 and 2.
inline std::vector<TaggedSentence> parse_columns(const std::vector<std::string>& lines, const std::string& name,
                                                 bool is_conllu) {
  const auto columns_of = [&](const std::string& line) {
    if (!is_conllu) return kusari::datasets::split_words(line, "");
    std::vector<std::string> columns(1);
    for (const char c : line) {
      if (c == '\t') {
        columns.emplace_back();
      } else {
        columns.back() += c;
      }
    }
    return columns;
  };
  const size_t word = is_conllu ? 1 : 0, tag = is_conllu ? 3 : 1;
  std::vector<TaggedSentence> sentences(1);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].find_first_not_of(" \t") == std::string::npos) {
      if (!sentences.back().words.empty()) sentences.emplace_back();
      continue;
    }
    if (is_conllu && lines[i].front() == '#') continue;
    const std::vector<std::string> columns = columns_of(lines[i]);
    if (is_conllu && columns[0].find_first_of("-.") != std::string::npos) continue;
    if (columns.size() <= tag) {
      throw kusari::ValueError(name + ":" + std::to_string(i + 1) + ": there are " + std::to_string(columns.size()) +
                               " columns: the tag is column " + std::to_string(tag + 1));
    }
    sentences.back().words.push_back(columns[word]);
    sentences.back().tags.push_back(columns[tag]);
  }
  if (sentences.back().words.empty()) sentences.pop_back();
  return sentences;
}

// format: "slashes", "columns" or "conllu".
inline std::vector<TaggedSentence> read_tagged(const std::string& path, const std::string& format) {
  const std::vector<std::string> lines = read_lines(path);
  return format == "slashes" ? parse_slashes(lines, path) : parse_columns(lines, path, format == "conllu");
}

// Sentences of a small grammar in which many words are of two kinds, so that what stands around them decides: "the can
// can light the saw".
inline std::vector<TaggedSentence> generate_tagged(int64_t count) {
  using Kind = std::pair<const char*, std::vector<std::string>>;
  const Kind det{"DET", {"the", "a", "this", "her"}}, adj{"ADJ", {"old", "red", "fast"}},
      noun{"NOUN", {"can", "watch", "saw", "plant", "light", "dog", "boat"}},
      verb{"VERB", {"can", "watch", "saw", "plant", "light", "find"}}, aux{"AUX", {"can", "will"}},
      subject{"PRON", {"they", "we", "she"}}, object{"PRON", {"them", "us", "her"}},
      adv{"ADV", {"fast", "today", "here"}}, prep{"ADP", {"near", "with"}}, stop{"PUNCT", {"."}};
  const auto one_in = [](uint64_t n) { return kusari::random::bits() % n == 0; };
  std::vector<TaggedSentence> sentences;
  for (int64_t i = 0; i < count; ++i) {
    TaggedSentence sentence;
    const auto say = [&](const Kind& kind) {
      sentence.words.push_back(kind.second[kusari::random::bits() % kind.second.size()]);
      sentence.tags.emplace_back(kind.first);
    };
    const auto say_thing = [&](const Kind& pronouns) {
      if (one_in(3)) return say(pronouns);
      say(det);
      if (one_in(3)) say(adj);
      say(noun);
    };
    say_thing(subject);
    if (one_in(2)) say(aux);
    say(verb);
    say_thing(object);
    if (one_in(3)) {
      say(prep);
      say_thing(object);
    }
    if (one_in(3)) say(adv);
    say(stop);
    sentences.push_back(std::move(sentence));
  }
  return sentences;
}

// Examples: the words of a sentence and their tags, int32 of one length.
class TaggedDataset : public kusari::datasets::Dataset {
 public:
  void add(const kusari::Array& words, const kusari::Array& tags) { sentences_.push_back({words, tags}); }
  int64_t size() const override { return static_cast<int64_t>(sentences_.size()); }
  kusari::datasets::Example get(int64_t i) const override {
    check_index("TaggedDataset", i, size());
    return sentences_[static_cast<size_t>(i)];
  }

 private:
  std::vector<kusari::datasets::Example> sentences_;
};

struct TaggedCorpus {
  kusari::datasets::Vocabulary words, tags;
  TaggedDataset train, validation;
};

// Of the files, or of generated sentences without any; without a second file the last tenth is for validation. Words
// that come less than min_count times in the training sentences are one, "<unk>".
inline TaggedCorpus load_tagged_corpus(const std::string& train_path, const std::string& validation_path,
                                       const std::string& format, int64_t min_count) {
  using namespace kusari;
  std::vector<TaggedSentence> train, validation;
  if (train_path.empty()) {
    const random::LocalStream same_sentences(1);
    train = generate_tagged(2000);
  } else {
    train = read_tagged(train_path, format);
  }
  if (validation_path.empty()) {
    const auto first = train.end() - static_cast<std::ptrdiff_t>(train.size() / 10);
    validation.assign(first, train.end());
    train.erase(first, train.end());
  } else {
    validation = read_tagged(validation_path, format);
  }
  TaggedCorpus corpus;
  std::vector<std::string> words;
  for (const auto* part : {&train, &validation}) {
    for (const TaggedSentence& sentence : *part) {
      if (part == &train) words.insert(words.end(), sentence.words.begin(), sentence.words.end());
      for (const std::string& tag : sentence.tags) corpus.tags.add(tag);
    }
  }
  corpus.words = datasets::Vocabulary(words, {.min_count = min_count, .unknown = "<unk>"});
  for (const TaggedSentence& s : train) corpus.train.add(corpus.words.encode(s.words), corpus.tags.encode(s.tags));
  for (const TaggedSentence& s : validation) {
    corpus.validation.add(corpus.words.encode(s.words), corpus.tags.encode(s.tags));
  }
  return corpus;
}
