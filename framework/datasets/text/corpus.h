#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/text/vocabulary.h"

namespace kusari::datasets {

/// Texts as ids.
struct TextCorpus {
  Vocabulary vocabulary;
  std::vector<Array> texts;  ///< one per file: int32 of shape (number of words or characters)
};

struct WordCorpusOptions {
  std::string end_of_line = "<eos>";  ///< the word that every line, also an empty one, ends with; "": none
  VocabularyOptions vocabulary = {};  ///< `.vocabulary = {.max_size = 10000, .unknown = "<unk>"}`
};

/// The words of a text: what stands between blanks, tabs and line ends.
KUSARI_API std::vector<std::string> split_words(std::string_view text, const std::string& end_of_line = "<eos>");
/// The same of a file, gzipped or not. Throws IoError.
KUSARI_API std::vector<std::string> read_words(const std::string& path, const std::string& end_of_line = "<eos>");
/// The characters of a file in UTF-8, gzipped or not. Throws IoError, naming the byte, where it is not UTF-8.
KUSARI_API std::vector<std::string> read_characters(const std::string& path);

/// Files as ids of words. The vocabulary is that of the first file; words that only others have are the unknown one,
/// or, without one, throw KeyError.
KUSARI_API TextCorpus read_word_corpus(const std::vector<std::string>& paths, const WordCorpusOptions& options = {});
/// Files as ids of characters, whose vocabulary is that of all files, in the order of their UTF-8 bytes.
KUSARI_API TextCorpus read_character_corpus(const std::vector<std::string>& paths);

}  // namespace kusari::datasets
