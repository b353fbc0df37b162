#include "kusari/framework/datasets/text/corpus.h"

#include <algorithm>
#include <map>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/utf8.h"
#include "kusari/framework/datasets/gzip.h"
#include "kusari/framework/datasets/reading.h"

namespace kusari::datasets {
namespace {

constexpr std::string_view kBlanks = " \t\r\v\f";

void add_words(std::string_view line, std::vector<std::string>* words) {
  for (size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    words->emplace_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlanks, end);
  }
}

}  // namespace

std::vector<std::string> split_words(std::string_view text, const std::string& end_of_line) {
  std::vector<std::string> words;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    add_words(rest.substr(0, end), &words);
    if (!end_of_line.empty()) words.push_back(end_of_line);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return words;
}

std::vector<std::string> read_words(const std::string& path, const std::string& end_of_line) {
  return reading("read_words", path, [&] { return split_words(read_maybe_gzip(path), end_of_line); });
}

namespace {

std::vector<std::string> split_characters(const std::string& path, const std::string& content) {
  std::vector<std::string> characters;
  for (size_t at = 0; at < content.size();) {
    const size_t size = utf8_character_size(content, at);
    if (size == 0) {
      throw IoError("read_characters: " + path + " is not UTF-8: byte " + std::to_string(at) + " is " +
                    std::to_string(static_cast<unsigned char>(content[at])));
    }
    characters.emplace_back(content, at, size);
    at += size;
  }
  return characters;
}

}  // namespace

std::vector<std::string> read_characters(const std::string& path) {
  return reading("read_characters", path, [&] { return split_characters(path, read_maybe_gzip(path)); });
}

TextCorpus read_word_corpus(const std::vector<std::string>& paths, const WordCorpusOptions& options) {
  if (paths.empty()) throw ValueError("read_word_corpus: no files are given");
  TextCorpus corpus;
  for (size_t i = 0; i < paths.size(); ++i) {
    reading("read_word_corpus", paths[i], [&] {
      const std::vector<std::string> words = read_words(paths[i], options.end_of_line);
      if (i == 0) corpus.vocabulary = Vocabulary(words, options.vocabulary);
      corpus.texts.push_back(corpus.vocabulary.encode(words));
    });
  }
  return corpus;
}

TextCorpus read_character_corpus(const std::vector<std::string>& paths) {
  if (paths.empty()) throw ValueError("read_character_corpus: no files are given");
  std::vector<std::vector<std::string>> texts;
  std::map<std::string_view, int64_t> counts;
  for (const std::string& path : paths) {
    reading("read_character_corpus", path, [&] {
      for (const std::string& character : texts.emplace_back(read_characters(path))) ++counts[character];
    });
  }
  TextCorpus corpus;
  for (const auto& [character, count] : counts) corpus.vocabulary.add(character, count);
  for (const auto& text : texts) corpus.texts.push_back(corpus.vocabulary.encode(text));
  return corpus;
}

}  // namespace kusari::datasets
