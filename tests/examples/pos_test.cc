#include <fstream>

#include <doctest/doctest.h>

#include "kusari/examples/pos/sentences.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari::pos_test {
namespace {

using testing::ScratchDirectory;
using Words = std::vector<std::string>;

TEST_CASE("sentences with tags in each format") {
  const ScratchDirectory scratch;
  const std::string path = scratch / "text";
  const auto read = [&](const std::string& text, const std::string& format) {
    std::ofstream(path) << text;
    return read_tagged(path, format);
  };
  const auto check = [](const std::vector<TaggedSentence>& sentences) {
    REQUIRE(sentences.size() == 2);
    CHECK(sentences[0].words == Words{"and/or", "dogs"});
    CHECK(sentences[0].tags == Words{"CC", "NOUN"});
    CHECK(sentences[1].words == Words{"#"});
    CHECK(sentences[1].tags == Words{"SYM"});
  };
  check(read("and/or/CC dogs/NOUN\n\n#/SYM\n", "slashes"));
  check(read("\nand/or CC B-NP\r\ndogs NOUN I-NP\r\n\r\n\r\n# SYM O", "columns"));
  check(read(
      "# text = and/or dogs\n1-2\tand/ordogs\t_\t_\n1\tand/or\tand/or\tCC\n2\tdogs\tdog\tNOUN\n2.1\tbark\t_\tVERB\n"
      "\n1\t#\t#\tSYM\n",
      "conllu"));

  CHECK_THROWS_WITH_AS(read("the/DET\ndog", "slashes"), (path + ":2: \"dog\" is not word/TAG").c_str(), ValueError);
  CHECK_THROWS_WITH_AS(read("the DET\n\ndog", "columns"),
                       (path + ":3: there are 1 columns: the tag is column 2").c_str(), ValueError);
  CHECK_THROWS_WITH_AS(read_tagged(scratch / "none", "columns"), ((scratch / "none") + " cannot be read").c_str(),
                       IoError);
}

TEST_CASE("a corpus of tagged files: rare words are one, tags those of both files") {
  const ScratchDirectory scratch;
  std::ofstream(scratch / "train") << "the/DET dog/NOUN\nthe/DET cat/NOUN\n";
  std::ofstream(scratch / "validation") << "she/PRON\n";
  const TaggedCorpus corpus = load_tagged_corpus(scratch / "train", scratch / "validation", "slashes", 2);
  CHECK(corpus.train.size() == 2);
  CHECK(corpus.words.decode(corpus.train.get(1)[0]) == Words{"the", "<unk>"});
  CHECK(corpus.words.decode(corpus.validation.get(0)[0]) == Words{"<unk>"});
  CHECK(corpus.tags.decode(corpus.validation.get(0)[1]) == Words{"PRON"});
}

}  // namespace
}  // namespace kusari::pos_test
