#include "kusari/framework/inference/constant_cache.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/tuning.h"
#include "kusari/framework/inference/inference_session.h"
#include "kusari/tests/inference/inference_testing.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari::testing {
namespace {

namespace fs = std::filesystem;

const char* const kRead = "a file of the cache has the results";

std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(folder)) found.push_back(entry.path().string());
  return found;
}
std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

struct CachedMlp {
  CachedMlp() {
    random::seed(3);
    model = InferenceMlp();
    draw_statistics(model);
    expected = InferenceSession(model).run({x})[0];
  }
  /// Runs a session of its own parameters with the cache. Whether it has read a file.
  bool run() const {
    const InferenceSession session(copy(model, CopyMode::copy), {.cache = folder});
    CHECK(same_bits(session.run({x})[0], expected));
    return session.summary().find(kRead) != std::string::npos;
  }

  ScratchDirectory directory;
  std::string folder = directory.path() + "/cache";
  InferenceMlp model;
  Array x = numbers({8, 6}), expected;
};

TEST_CASE("InferenceSession: constants come from the cache's folder") {
  CachedMlp cached;
  CHECK_FALSE(cached.run());
  CHECK(files_of(cached.folder).size() == 1);
  CHECK(cached.run());
  CHECK(files_of(cached.folder).size() == 1);

  // Other numbers have another file.
  cached.model.l1.W.array().fill(0.25);
  cached.expected = InferenceSession(copy(cached.model, CopyMode::copy)).run({cached.x})[0];
  CHECK_FALSE(cached.run());
  CHECK(files_of(cached.folder).size() == 2);
}

TEST_CASE("InferenceSession: a file of the cache that is not whole or another's is passed over and written again") {
  CachedMlp cached;
  CHECK_FALSE(cached.run());
  REQUIRE(files_of(cached.folder).size() == 1);
  const std::string path = files_of(cached.folder)[0], whole = content_of(path);
  REQUIRE(whole.size() > 400);
  std::string other = whole;
  SUBCASE("damaged at the end") { other.back() = static_cast<char>(other.back() ^ 1); }
  SUBCASE("damaged numbers") { other[whole.size() - 200] = static_cast<char>(other[whole.size() - 200] ^ 0x40); }
  SUBCASE("cut off") { other.resize(whole.size() - 1); }
  SUBCASE("cut off in the beginning") { other.resize(5); }
  SUBCASE("empty") { other.clear(); }
  SUBCASE("longer") { other += "more"; }
  SUBCASE("of something else") { other = std::string(whole.size(), 'x'); }
  SUBCASE("of another version") {
    const size_t at = other.find("kusari " KUSARI_VERSION);
    REQUIRE(at != std::string::npos);
    other[at + 7] = '9';
  }
  SUBCASE("of another processor") {
    const size_t at = other.find("Instruction set: v");
    REQUIRE(at != std::string::npos);
    other[at + 18] = '7';
  }
  REQUIRE(other != whole);
  write(path, other);
  CHECK_FALSE(cached.run());
  CHECK(content_of(path) == whole);
  CHECK(files_of(cached.folder).size() == 1);
  CHECK(cached.run());
}

TEST_CASE("InferenceSession: what autotune chose is in the cache") {
  CachedMlp cached;
  const std::string problem = "test.constant_cache/1 a problem";
  tuning::keep(problem, "one");
  cached.run();
  for (const std::string& path : files_of(cached.folder)) CHECK(path.find("tunings") == std::string::npos);
  const auto autotune = using_config(&Config::autotune, true);
  cached.run();
  tuning::keep(problem, "another");
  cached.run();
  CHECK(tuning::find(problem) == "one");

  tuning::keep(problem, "another");
  for (const std::string& path : files_of(cached.folder)) {
    if (path.find("tunings") == std::string::npos) continue;
    std::string other = content_of(path);
    other.back() = static_cast<char>(other.back() ^ 1);
    write(path, other);
  }
  cached.run();
  CHECK(tuning::find(problem) == "another");
}

TEST_CASE("InferenceSession: a cache that cannot be written computes") {
  CachedMlp cached;
  write(cached.folder, "a file where the folder should be");
  CHECK_FALSE(cached.run());
  CHECK_FALSE(cached.run());
  CHECK(content_of(cached.folder) == "a file where the folder should be");
}

}  // namespace
}  // namespace kusari::testing
