// docs/coming_from_chainer.md accounts for each name of Chainer: it is in a header, or in a table of the page.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fnmatch.h>

namespace kusari {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  REQUIRE_MESSAGE(file.good(), path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

void add_words(const std::string& text, std::set<std::string>& words) {
  std::string word;
  for (const char c : text + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      word += c;
    } else if (!word.empty()) {
      words.insert(std::move(word));
      word.clear();
    }
  }
}

/// What the public headers declare or say in code.
std::set<std::string> words_of_headers() {
  std::set<std::string> words;
  for (const char* folder : {"framework", "iterators", "optimizers", "updaters"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(fs::path(KUSARI_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".h") continue;
      std::istringstream lines(text_of(entry.path()));
      for (std::string line; std::getline(lines, line);) add_words(line.substr(0, line.find("//")), words);
    }
  }
  return words;
}

struct Row {
  std::vector<std::string> theirs;  // patterns
  std::vector<std::string> ours;    // code
};

std::vector<std::string> code_spans(const std::string& cell) {
  std::vector<std::string> spans;
  const std::regex span("`([^`]+)`");
  for (std::sregex_iterator it(cell.begin(), cell.end(), span), end; it != end; ++it) spans.push_back((*it)[1]);
  return spans;
}

/// The rows of the tables below a heading of the page.
std::vector<Row> rows_below(const std::string& page, const std::string& heading) {
  const size_t begin = page.find("\n## " + heading + "\n");
  REQUIRE_MESSAGE(begin != std::string::npos, heading);
  std::istringstream lines(page.substr(begin, page.find("\n## ", begin + 4) - begin));
  std::vector<Row> rows;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| `")) continue;
    const size_t middle = line.find(" | ", 2);
    REQUIRE_MESSAGE(middle != std::string::npos, line);
    rows.push_back({code_spans(line.substr(0, middle)), code_spans(line.substr(middle))});
  }
  return rows;
}

struct Name {
  std::string area, name;
};

std::vector<Name> names_of_chainer() {
  std::istringstream lines(text_of(KUSARI_SOURCE_DIR "/tests/docs/chainer_names.tsv"));
  std::vector<Name> names;
  for (std::string line; std::getline(lines, line);) {
    const size_t tab = line.find('\t');
    names.push_back({line.substr(0, tab), line.substr(tab + 1, line.find('\t', tab + 1) - tab - 1)});
  }
  return names;
}

bool is_here(const Name& name, const std::set<std::string>& words) {
  if (name.area == "example") {
    const fs::path program = fs::path(KUSARI_SOURCE_DIR) / "examples" / name.name;
    return fs::exists(fs::path(program).replace_extension(".cc"));
  }
  const std::string whole = name.name.substr(0, name.name.find('('));
  return words.count(whole.substr(whole.find_last_of('.') + 1)) != 0;
}

TEST_CASE("the page for Chainer's users accounts for every name") {
  const std::string page = text_of(KUSARI_SOURCE_DIR "/docs/coming_from_chainer.md");
  const std::vector<Row> missing = rows_below(page, "What is missing");
  std::vector<Row> rows = rows_below(page, "Called otherwise");
  for (const Row& row : rows_below(page, "Without use in C++")) rows.push_back(row);
  rows.insert(rows.end(), missing.begin(), missing.end());
  std::vector<std::pair<std::string, bool>> patterns;
  for (const Row& row : rows) {
    for (const std::string& pattern : row.theirs) patterns.emplace_back(pattern, false);
  }

  const std::set<std::string> words = words_of_headers();
  const std::vector<Name> names = names_of_chainer();
  CHECK(names.size() > 1000);
  size_t not_here = 0;
  for (const Name& name : names) {
    bool found = false;
    for (auto& [pattern, is_used] : patterns) {
      if (::fnmatch(pattern.c_str(), name.name.c_str(), 0) == 0) found = is_used = true;
    }
    CHECK_MESSAGE((found || is_here(name, words)), (name.area + " " + name.name + " is in no header and in no table"));
  }
  for (const auto& [pattern, is_used] : patterns) CHECK_MESSAGE(is_used, (pattern + " is no name of Chainer"));

  for (const Name& name : names) {
    for (const Row& row : missing) {
      for (const std::string& pattern : row.theirs) {
        if (::fnmatch(pattern.c_str(), name.name.c_str(), 0) != 0) continue;
        CHECK_MESSAGE(!is_here(name, words), (name.name + " is said to be missing but is here"));
        if (name.area != "example") ++not_here;
      }
    }
  }
  CHECK(not_here <= 15);
  CHECK(missing.size() <= 15);
}

TEST_CASE("what the page names is there") {
  const std::string page = text_of(KUSARI_SOURCE_DIR "/docs/coming_from_chainer.md");
  std::set<std::string> words = words_of_headers();
  for (const char* folder : {"docs/environment.md"}) add_words(text_of(fs::path(KUSARI_SOURCE_DIR) / folder), words);
  const std::regex name("[A-Za-z_][A-Za-z0-9_]*");
  for (const char* heading : {"Called otherwise", "What is missing"}) {
    for (const Row& row : rows_below(page, heading)) {
      for (const std::string& code : row.ours) {
        if (code.find('/') != std::string::npos) {
          if (code.starts_with("examples/")) CHECK_MESSAGE(fs::exists(fs::path(KUSARI_SOURCE_DIR) / code), code);
          continue;
        }
        std::string bare = std::regex_replace(code, std::regex("\"[^\"]*\"|--[a-z]+|operator\\S*"), "");
        for (std::sregex_iterator it(bare.begin(), bare.end(), name), end; it != end; ++it) {
          CHECK_MESSAGE(words.count(it->str()) != 0, (code + ": no header has " + it->str()));
        }
      }
    }
  }
}

}  // namespace
}  // namespace kusari
