#include "kusari/framework/tokenizers/tokenizer.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "kusari/framework/core/error.h"
#include "kusari/tests/scratch_directory.h"

// tests/golden/tokenizers: small tokenizers that github.com/huggingface/tokenizers learnt, and what it makes of texts.
namespace kusari::tokenizer_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path kGolden = fs::path(KUSARI_SOURCE_DIR) / "tests/golden/tokenizers";

json read(const fs::path& path) {
  std::ifstream file(path);
  return json::parse(file);
}

void check_cases(const tokenizers::Tokenizer& tokenizer, const std::string& name) {
  const json cases = read(kGolden / name / "cases.json");
  REQUIRE(cases.size() > 20);
  for (const json& each : cases) {
    const auto text = each["text"].get<std::string>();
    CAPTURE(text);
    const Array ids = tokenizer.encode(text);
    CHECK(ids.to_vector<int32_t>() == each["ids"].get<std::vector<int32_t>>());
    CHECK(tokenizer.encode(text, {.add_special = false}).to_vector<int32_t>() ==
          each["ids_plain"].get<std::vector<int32_t>>());
    CHECK(tokenizer.decode(ids) == each["decoded"].get<std::string>());
    CHECK(tokenizer.decode(ids, true) == each["decoded_skip"].get<std::string>());
  }
}

/// A folder with a golden tokenizer that has been changed.
class Changed {
 public:
  Changed(const std::string& name, const json& patch) {
    json content = read(kGolden / name / "tokenizer.json");
    std::ofstream(scratch_ / "tokenizer.json") << content.patch(patch);
  }
  std::string folder() const { return scratch_.path(); }

 private:
  testing::ScratchDirectory scratch_;
};

}  // namespace

TEST_CASE("tokenizers without patterns give the ids and texts of their library") {
  check_cases(tokenizers::load((kGolden / "llama2").string()), "llama2");
  check_cases(tokenizers::load((kGolden / "metaspace").string()), "metaspace");
}

#ifdef KUSARI_WITH_PCRE2
TEST_CASE("tokenizers with patterns give the ids and texts of their library") {
  check_cases(tokenizers::load((kGolden / "gpt2").string()), "gpt2");
  check_cases(tokenizers::load((kGolden / "llama3").string()), "llama3");
  // GPT-2's own two files.
  const testing::ScratchDirectory scratch;
  for (const char* file : {"vocab.json", "merges.txt"}) fs::copy(kGolden / "gpt2" / file, scratch / file);
  check_cases(tokenizers::load(scratch.path()), "gpt2");
  std::ofstream(scratch / "merges.txt") << "#version: 0.2\nt h\nt h e\n";
  CHECK_THROWS_WITH_AS(tokenizers::load(scratch.path()),
                       doctest::Contains("merges.txt is damaged: line 3: \"t h e\" must be two tokens"), IoError);
}

TEST_CASE("texts of any kind come back") {
  const tokenizers::Tokenizer tokenizer = tokenizers::load((kGolden / "gpt2").string());
  std::string text;
  uint32_t state = 1;
  for (int i = 0; i < 3000; ++i) {
    state = state * 1664525 + 1013904223;
    const uint32_t kind = state >> 28, code = kind < 8 ? 32 + (state >> 8) % 95 : 0x4e00 + (state >> 8) % 5000;
    if (code < 0x80) {
      text += static_cast<char>(code);
    } else {
      text += {static_cast<char>(0xe0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3f)),
               static_cast<char>(0x80 | (code & 0x3f))};
    }
  }
  CHECK(tokenizer.decode(tokenizer.encode(text)) == text);
  // As they grow, token by token.
  std::string grown;
  for (const int32_t id : tokenizer.encode(text).to_vector<int32_t>()) grown += tokenizer.bytes_of(id);
  CHECK(grown == text);
}

TEST_CASE("a pattern that is wrong") {
  const Changed changed("llama3", json::parse(R"([{"op": "replace",
      "path": "/pre_tokenizer/pretokenizers/0/pattern/Regex", "value": "a(b"}])"));
  CHECK_THROWS_WITH_AS(tokenizers::load(changed.folder()), doctest::Contains("the pattern \"a(b\" is wrong at byte 3"),
                       ValueError);
}
#else
TEST_CASE("tokenizers with patterns need PCRE2") {
  CHECK_THROWS_WITH_AS(tokenizers::load((kGolden / "gpt2").string()), doctest::Contains("without PCRE2"), StateError);
}
#endif

TEST_CASE("tokens and ids") {
  const tokenizers::Tokenizer tokenizer = tokenizers::load((kGolden / "llama2").string());
  CHECK(tokenizer.size() == 800);
  CHECK(tokenizer.id("<s>") == 1);
  CHECK(!tokenizer.id("no such token"));
  CHECK(tokenizer.bytes_of(3) == std::string(1, '\0'));
  CHECK(tokenizer.bytes_of(3 + 0xe2) == "\xe2");
  CHECK_THROWS_WITH_AS(tokenizer.bytes_of(800), "Tokenizer: id is 800: it must be in [0, 800)", IndexError);
  CHECK_THROWS_AS(tokenizer.decode(array(std::vector<int32_t>{-1})), IndexError);
  CHECK_THROWS_WITH_AS(tokenizer.decode(array(std::vector<float>{1})), doctest::Contains("ids has dtype float32"),
                       TypeError);
  CHECK_THROWS_WITH_AS(tokenizer.encode("ab\xff"), "Tokenizer::encode: text is not UTF-8: byte 2 is 255", ValueError);
  // Special tokens as letters.
  const Array ids = tokenizer.encode("<s>", {.add_special = false, .parse_special = false});
  CHECK(ids.size() > 1);
  CHECK(tokenizer.decode(ids) == "<s>");
  // Ids of any shape.
  CHECK(tokenizer.decode(tokenizer.encode("the").reshape({1, -1}), true) == "the");
}

TEST_CASE("tokenizers that are damaged or work in another way") {
  const auto load = [](const char* patch) { return tokenizers::load(Changed("llama2", json::parse(patch)).folder()); };
  CHECK_THROWS_WITH_AS(load(R"([{"op": "replace", "path": "/model/type", "value": "Unigram"}])"),
                       doctest::Contains("model: the type \"Unigram\" is not known"), ValueError);
  CHECK_THROWS_WITH_AS(load(R"([{"op": "replace", "path": "/normalizer/normalizers/0/type", "value": "NFKC"}])"),
                       doctest::Contains("normalizer.normalizers[0]: the type \"NFKC\" is not known"), ValueError);
  CHECK_THROWS_WITH_AS(load(R"([{"op": "remove", "path": "/model/vocab"}])"),
                       doctest::Contains("model: \"vocab\" is missing"), IoError);
  CHECK_THROWS_WITH_AS(load(R"([{"op": "replace", "path": "/model/vocab/<s>", "value": -1}])"),
                       doctest::Contains("model.vocab.<s>: it must be an id"), IoError);
  CHECK_THROWS_WITH_AS(load(R"([{"op": "replace", "path": "/model/vocab/<s>", "value": 99999999999}])"),
                       doctest::Contains("it must be an id"), IoError);
  CHECK_THROWS_WITH_AS(load(R"([{"op": "replace", "path": "/model/vocab/<s>", "value": 2}])"),
                       doctest::Contains("its id is that of"), IoError);
  CHECK_THROWS_WITH_AS(load(R"([{"op": "replace", "path": "/model/merges/0", "value": ["x"]}])"),
                       doctest::Contains("model.merges[0]: it must be two tokens"), IoError);
  CHECK_THROWS_WITH_AS(load(R"([{"op": "replace", "path": "/model/merges/0", "value": ["no such", "tokens"]}])"),
                       doctest::Contains("are no tokens"), IoError);
  CHECK_THROWS_WITH_AS(load(R"([{"op": "replace", "path": "/post_processor/special_tokens/<s>/ids/0", "value": 800}])"),
                       doctest::Contains("id 800 is no token's"), IoError);
  CHECK_THROWS_WITH_AS(load(R"([{"op": "replace", "path": "/model/unk_token", "value": "?!"}])"),
                       doctest::Contains("unk_token is no token"), IoError);
  CHECK_THROWS_WITH_AS(load(R"([{"op": "replace", "path": "/pre_tokenizer",
                                 "value": {"type": "Metaspace", "replacement": ""}}])"),
                       doctest::Contains("is damaged: pre_tokenizer.replacement: it is empty"), IoError);
  CHECK_THROWS_WITH_AS(load(R"([{"op": "replace", "path": "/decoder",
                                 "value": {"type": "Metaspace", "replacement": ""}}])"),
                       doctest::Contains("decoder.replacement: it is empty"), IoError);
  CHECK_THROWS_WITH_AS(load(R"([{"op": "replace", "path": "/normalizer/normalizers/1/pattern/String", "value": ""}])"),
                       doctest::Contains("pattern.String: it is empty"), IoError);
  CHECK_THROWS_WITH_AS(load(R"([{"op": "replace", "path": "/decoder/decoders/0/pattern/String", "value": ""}])"),
                       doctest::Contains("pattern.String: it is empty"), IoError);
  const testing::ScratchDirectory scratch;
  CHECK_THROWS_WITH_AS(tokenizers::load(scratch.path()), doctest::Contains("tokenizer.json cannot be read"), IoError);
  for (const char* content : {"", "{", "[]", "7", "{\"model\": 3}"}) {
    std::ofstream(scratch / "tokenizer.json") << content;
    CHECK_THROWS_AS(tokenizers::load(scratch.path()), IoError);
  }
}

}  // namespace kusari::tokenizer_test
