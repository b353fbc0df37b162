#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/tests/golden_data.h"

// That every function has its property.
namespace {

/// The families whose functions are tested here; the others have references of their own in tests/functions.
const std::set<std::string> kFamilies = {"activation", "array", "evaluation", "loss", "math", "noise", "util"};

std::vector<std::string> split(const std::string& line, char separator) {
  std::vector<std::string> fields;
  std::istringstream stream(line);
  for (std::string field; std::getline(stream, field, separator);) fields.push_back(field);
  return fields;
}

/// The names after "property: " of the tests in this program, by its own list of them.
std::set<std::string> properties() {
  const std::string command =
      "'" + std::filesystem::read_symlink("/proc/self/exe").string() + "' --list-test-cases --no-skip=true";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  REQUIRE(pipe != nullptr);
  std::string text;
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe.get())) > 0;) text.append(buffer, n);
  std::set<std::string> names;
  const std::string prefix = "property: ";
  for (const std::string& line : split(text, '\n')) {
    if (line.rfind(prefix, 0) == 0) names.insert(line.substr(prefix.size()));
  }
  return names;
}

TEST_CASE("every function has a property") {
  const std::set<std::string> tested = properties();
  std::ifstream list(kusari::testing::golden_path("chainer-api.tsv"));
  std::string missing;
  int functions = 0;
  for (std::string line; std::getline(list, line);) {
    // area, name, signature, module
    const std::vector<std::string> fields = split(line, '\t');
    if (fields.size() < 4 || fields[0] != "function") continue;
    const std::vector<std::string> module = split(fields[3], '.');  // chainer.functions.<family>.<file>
    if (module.size() < 3 || kFamilies.count(module[2]) == 0) continue;
    ++functions;
    if (tested.count(fields[1]) == 0) missing += " " + module[2] + "/" + fields[1];
  }
  CHECK(functions > 100);
  CHECK_MESSAGE(missing.empty(), "no TEST_CASE(\"property: NAME\") for", missing);
}

}  // namespace
