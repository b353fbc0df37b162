#include "kusari/framework/datasets/text/corpus.h"

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/atomic_file.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/text/text_datasets.h"
#include "kusari/framework/serializers/zip.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/shared_data.h"
#include "kusari/tests/skip.h"

using namespace kusari;
using namespace kusari::datasets;
using kusari::testing::ScratchDirectory;
using kusari::testing::shared_path;
using kusari::testing::write_file;

namespace {

using Words = std::vector<std::string>;

std::vector<int> ids(const Array& array) { return array.to_vector<int>(); }

}  // namespace

TEST_CASE("Vocabulary: ids, counts, unknown words") {
  Vocabulary vocabulary(Words{"the", "cat", "the", "end"});
  CHECK(vocabulary.size() == 3);
  CHECK(vocabulary.id("the") == 0);
  CHECK(vocabulary.id("end") == 2);
  CHECK(vocabulary.word(1) == "cat");
  CHECK(vocabulary.count(0) == 2);
  CHECK(vocabulary.counts() == std::vector<int64_t>{2, 1, 1});
  CHECK(vocabulary.contains("cat"));
  CHECK_FALSE(vocabulary.contains("dog"));
  CHECK_THROWS_WITH_AS(vocabulary.id("dog"),
                       "Vocabulary::id: there is no word 'dog' among 3, and none for unknown words", KeyError);
  CHECK_THROWS_WITH_AS(vocabulary.word(3), "Vocabulary::word: id 3 is out of range: there are 3 words", IndexError);
  CHECK_THROWS_AS(vocabulary.count(-1), IndexError);
  CHECK_THROWS_WITH_AS(vocabulary.set_unknown("<unk>"), "Vocabulary::set_unknown: there is no word '<unk>'", KeyError);
  CHECK(vocabulary.add("<unk>", 0) == 3);
  vocabulary.set_unknown("<unk>");
  const Array text = vocabulary.encode(Words{"end", "dog", "the"});
  CHECK(text.dtype() == Dtype::int32);
  CHECK(ids(text) == std::vector<int>{2, 3, 0});
  CHECK(vocabulary.decode(text) == Words{"end", "<unk>", "the"});
  CHECK(vocabulary.encode(Words{}).shape() == Shape{0});
  CHECK_THROWS_WITH_AS(vocabulary.decode(zeros({2})), "Vocabulary::decode: ids has dtype float32: integers are needed",
                       TypeError);
  CHECK_THROWS_WITH_AS(vocabulary.decode(Array()), "Vocabulary::decode: ids is undefined", TypeError);
  CHECK_THROWS_AS(vocabulary.decode(array<int32_t>({9}, {1})), IndexError);
}

TEST_CASE("Vocabulary: a word may be a part of one that is there") {
  Vocabulary vocabulary(Words{"abcdefghijkl"});
  for (size_t n = 1; n < 12; ++n) {
    const auto last = static_cast<int32_t>(vocabulary.size()) - 1;
    const int32_t id = vocabulary.add(std::string_view(vocabulary.word(last)).substr(0, 12 - n));
    CHECK(vocabulary.id(std::string("abcdefghijkl").substr(0, 12 - n)) == id);
  }
  CHECK(vocabulary.size() == 12);
}

TEST_CASE("Vocabulary: rare words are left out") {
  const Words words = {"b", "a", "a", "c", "c", "c", "b", "d"};
  const Vocabulary frequent(words, {.min_count = 3});
  CHECK(frequent.size() == 1);
  CHECK(frequent.id("c") == 0);

  const Vocabulary two(words, {.max_size = 2});  // of a and b, which come as often, the first
  CHECK(two.decode(arange(2, Dtype::int32)) == Words{"b", "c"});

  const Vocabulary three(words, {.max_size = 3, .unknown = "<unk>"});
  CHECK(three.decode(arange(3, Dtype::int32)) == Words{"b", "c", "<unk>"});
  CHECK(three.counts() == std::vector<int64_t>{2, 3, 3});
  CHECK(three.id("d") == 2);

  const Vocabulary own(Words{"x", "<unk>", "y", "x"}, {.max_size = 2, .unknown = "<unk>"});
  CHECK(own.decode(arange(2, Dtype::int32)) == Words{"x", "<unk>"});
  CHECK(own.counts() == std::vector<int64_t>{2, 2});
  CHECK_THROWS_WITH_AS(Vocabulary(words, {.min_count = 0}),
                       "Vocabulary: min_count is 0 and max_size is 0: they must be at least 1 and 0", ValueError);
}

TEST_CASE("split_words: blanks and line ends") {
  CHECK(split_words("") == Words{});
  CHECK(split_words(" a\tb  c \n\n d") == Words{"a", "b", "c", "<eos>", "<eos>", "d", "<eos>"});
  CHECK(split_words("a\r\nb\n", "") == Words{"a", "b"});
}

TEST_CASE("read_characters: UTF-8") {
  const ScratchDirectory dir;
  write_file(dir / "text", "aé日😀\n");
  CHECK(read_characters(dir / "text") == Words{"a", "é", "日", "😀", "\n"});
  const auto check_bad = [&](const std::string& content, const char* message) {
    write_file(dir / "bad", content);
    CHECK_THROWS_WITH_AS(read_characters(dir / "bad"), doctest::Contains(message), IoError);
  };
  check_bad("ab\xff", "bad is not UTF-8: byte 2 is 255");
  check_bad("\xc3", "byte 0 is 195");               // cut off
  check_bad("\xc0\x80", "byte 0 is 192");           // longer than needed
  check_bad("\xed\xa0\x80", "byte 0 is 237");       // a surrogate
  check_bad("a\xf4\x90\x80\x80", "byte 1 is 244");  // above U+10FFFF
}

TEST_CASE("corpora: the vocabulary of the first file, or of all characters") {
  const ScratchDirectory dir;
  write_file(dir / "train", "b a\nb\n");
  write_file(dir / "test", "a z\n");
  CHECK_THROWS_WITH_AS(read_word_corpus({dir / "train", dir / "test"}), doctest::Contains("no word 'z' among 3"),
                       KeyError);
  const TextCorpus corpus = read_word_corpus({dir / "train", dir / "test"}, {.vocabulary = {.unknown = "<unk>"}});
  CHECK(corpus.vocabulary.decode(arange(4, Dtype::int32)) == Words{"b", "a", "<eos>", "<unk>"});
  CHECK(ids(corpus.texts[0]) == std::vector<int>{0, 1, 2, 0, 2});
  CHECK(ids(corpus.texts[1]) == std::vector<int>{1, 3, 2});

  const TextCorpus letters = read_character_corpus({dir / "train", dir / "test"});
  CHECK(letters.vocabulary.decode(arange(5, Dtype::int32)) == Words{"\n", " ", "a", "b", "z"});
  CHECK(ids(letters.texts[1]) == std::vector<int>{2, 1, 4, 0});
  CHECK(letters.vocabulary.count(3) == 2);
  CHECK_THROWS_AS(read_word_corpus({}), ValueError);
  CHECK_THROWS_AS(read_character_corpus({}), ValueError);
  CHECK_THROWS_AS(read_word_corpus({dir / "none"}), IoError);
}

TEST_CASE("PTB: ids in the order of the training text") {
  const ScratchDirectory dir;
  write_file(dir / "ptb.train.txt", " aer banknote berlitz \n pierre <unk> N years \n");
  write_file(dir / "ptb.valid.txt", " pierre aer \n");
  write_file(dir / "ptb.test.txt", " N \n");
  const auto [train, valid, test] = get_ptb_words({.root = dir.path()});
  CHECK(ids(train) == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 3});
  CHECK(ids(valid) == std::vector<int>{4, 0, 3});
  CHECK(ids(test) == std::vector<int>{6, 3});
  const Vocabulary vocabulary = get_ptb_words_vocabulary({.root = dir.path()});
  CHECK(vocabulary.size() == 8);
  CHECK(vocabulary.id("<eos>") == 3);
  CHECK_THROWS_WITH_AS(get_ptb_words({.root = dir / "none"}),
                       doctest::Contains("get_ptb_words: neither ptb.train.txt nor ptb.train.txt.gz is in the folder"),
                       IoError);
}

TEST_CASE("WikiText-2 from its archive") {
  const ScratchDirectory dir;
  AtomicFile file(dir / "wikitext-2-v1.zip");
  serializers::ZipWriter zip(file);
  zip.add("wikitext-2/wiki.train.tokens", " = A = \n \n the <unk> \n", serializers::ZipMethod::deflated);
  zip.add("wikitext-2/wiki.valid.tokens", " the A \n", serializers::ZipMethod::stored);
  zip.finish();
  file.commit();
  CHECK(get_wikitext2_words_vocabulary({.root = dir.path()}).decode(arange(5, Dtype::int32)) ==
        Words{"=", "A", "<eos>", "the", "<unk>"});
  CHECK_THROWS_WITH_AS(get_wikitext2_words({.root = dir.path()}),
                       doctest::Contains("wikitext-2-v1.zip has no entry 'wikitext-2/wiki.test.tokens'"), IoError);
}

TEST_CASE("WikiText-2 of the shared data" * doctest::test_suite("needs wikitext-2")) {
  const std::string valid = shared_path("data/wikitext-2/valid.txt");
  if (valid.empty()) KUSARI_SKIP("no data/wikitext-2");
  const TextCorpus corpus =
      read_word_corpus({valid, shared_path("data/wikitext-2/test.txt")}, {.vocabulary = {.unknown = "<unk>"}});
  // Numbers of tokens from the data's README.
  CHECK(corpus.texts[0].size() == 217646);
  CHECK(corpus.texts[1].size() == 245569);
  CHECK(corpus.vocabulary.contains("<unk>"));
  const ScratchDirectory dir;
  std::filesystem::create_symlink(valid, dir / "train.txt");
  std::filesystem::create_symlink(valid, dir / "wiki.valid.tokens");
  std::filesystem::create_symlink(valid, dir / "test.txt");
  const WordSplits splits = get_wikitext2_words({.root = dir.path()});
  CHECK(splits.train.size() == 217646);
  CHECK(ids(splits.valid) == ids(splits.train));
  CHECK(get_wikitext2_words_vocabulary({.root = dir.path()}).size() == Vocabulary(read_words(valid)).size());
}

TEST_CASE("Tiny Shakespeare of the shared data" * doctest::test_suite("needs tinyshakespeare")) {
  const std::string path = shared_path("data/tinyshakespeare/input.txt");
  if (path.empty()) KUSARI_SKIP("no data/tinyshakespeare");
  const TextCorpus corpus = get_tiny_shakespeare({.root = std::filesystem::path(path).parent_path().string()});
  // Numbers from the data's README.
  CHECK(corpus.texts[0].size() == 1115394);
  CHECK(corpus.vocabulary.size() == 65);
  std::string start;
  for (const std::string& c : corpus.vocabulary.decode(corpus.texts[0].slice(0, 0, 14))) start += c;
  CHECK(start == "First Citizen:");
}
