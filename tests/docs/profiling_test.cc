#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include <doctest/doctest.h>

// The kernels that docs/profiling.md names are there.
namespace kusari {
namespace {

std::string whole_text(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::set<std::string> matches(const std::string& text, const std::regex& pattern) {
  std::set<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) {
    found.insert((*match)[1]);
  }
  return found;
}

std::set<std::string> kernels_of_sources(const std::filesystem::path& root) {
  std::set<std::string> names;
  // The name behind __global__ void and what limits the launch, which may have parentheses.
  const std::regex definition(R"(__global__ void(?:\s+__launch_bounds__\((?:[^()]|\([^()]*\))*\))?\s+(\w+)\s*\()");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / "cuda" / "kernels")) {
    if (!entry.is_regular_file()) continue;
    names.merge(matches(whole_text(entry.path()), definition));
  }
  return names;
}

TEST_CASE("docs/profiling.md names kernels that there are") {
  const std::filesystem::path root = KUSARI_SOURCE_DIR;
  const std::set<std::string> kernels = kernels_of_sources(root);
  CHECK(kernels.size() > 80);
  const std::string page = whole_text(root / "docs" / "profiling.md");
  const size_t table = page.find("| kernels | of |");
  REQUIRE(table != std::string::npos);
  const std::string rows = page.substr(table, page.find("\n\n", table) - table);
  std::set<std::string> named = matches(rows, std::regex("`(\\w+)`"));
  CHECK(named.size() > 15);
  named.merge(matches(page, std::regex("regex:(\\w+)")));
  for (const std::string& name : named) {
    CAPTURE(name);
    CHECK(kernels.contains(name));
  }
}

}  // namespace
}  // namespace kusari
