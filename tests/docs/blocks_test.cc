// Each C++ block of a page must stand in the test that compiles and runs the page's programs.
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace kusari {
namespace {

std::string read(const std::string& path) {
  std::ifstream file(std::string(KUSARI_SOURCE_DIR "/") + path);
  REQUIRE_MESSAGE(file.good(), path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Without regard to line breaks and indentation, which a page may have otherwise.
std::string without_blanks(const std::string& text) { return std::regex_replace(text, std::regex("\\s+"), ""); }

std::vector<std::string> blocks(const std::string& page) {
  std::vector<std::string> found;
  const std::string open = "```cpp\n", close = "\n```";
  for (size_t at = page.find(open); at != std::string::npos; at = page.find(open, at)) {
    at += open.size();
    const size_t end = page.find(close, at);
    REQUIRE(end != std::string::npos);
    found.push_back(page.substr(at, end - at));
    at = end + close.size();
  }
  return found;
}

TEST_CASE("programs of the tutorial are those that the tests run") {
  const std::string source = without_blanks(read("tests/docs/tutorial_test.cc"));
  for (const char* page : {"1_a_first_net", "2_the_trainer", "3_your_own_photos"}) {
    for (const std::string& program : blocks(read(std::string("docs/tutorial/") + page + ".md"))) {
      CAPTURE(program);
      CHECK(source.find(without_blanks(program)) != std::string::npos);
    }
  }
}

TEST_CASE("programs of the pages are those that the tests run") {
  for (const std::string& page :
       {std::string("how_to"), std::string("extending"), std::string("sequences"), std::string("inference"),
        std::string("quantization"), std::string("distributions")}) {
    const std::string source = without_blanks(read("tests/docs/" + page + "_test.cc"));
    const auto programs = blocks(read("docs/" + page + ".md"));
    CHECK(programs.size() >= 5);
    for (const std::string& program : programs) {
      CAPTURE(page);
      CAPTURE(program);
      CHECK(source.find(without_blanks(program)) != std::string::npos);
    }
  }
}

}  // namespace
}  // namespace kusari
