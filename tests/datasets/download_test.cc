#include "kusari/framework/datasets/download.h"

#include <cstdlib>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "kusari/framework/core/error.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/skip.h"

using namespace kusari;
using namespace kusari::datasets;
using kusari::testing::read_file;
using kusari::testing::ScratchDirectory;
using kusari::testing::write_file;

namespace {

/// KUSARI_DATASET_ROOT for the length of a test.
class Root {
 public:
  explicit Root(const std::string& path) {
    if (const char* old = std::getenv("KUSARI_DATASET_ROOT")) previous_ = old;
    ::setenv("KUSARI_DATASET_ROOT", path.c_str(), 1);
  }
  ~Root() {
    if (previous_.empty()) {
      ::unsetenv("KUSARI_DATASET_ROOT");
    } else {
      ::setenv("KUSARI_DATASET_ROOT", previous_.c_str(), 1);
    }
  }

 private:
  std::string previous_;
};

constexpr const char* kSha256OfAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";  // FIPS 180-4

bool has_libcurl(const ScratchDirectory& dir) {
  write_file(dir / "probe", "x");
  const Root root(dir / "probe_root");
  try {
    cached_download({"file://" + (dir / "probe")}, "probe");
    return true;
  } catch (const IoError& error) {
    if (std::string(error.what()).find("no libcurl") == std::string::npos) throw;
    kusari::testing::skip("built without libcurl");
    return false;
  }
}

}  // namespace

TEST_CASE("dataset_root is the environment's, else in the home directory") {
  {
    const Root root("/some/where");
    CHECK(dataset_root() == "/some/where");
  }
  const Root root("");
  const std::string home = std::getenv("HOME") ? std::getenv("HOME") : "";
  if (!home.empty()) CHECK(dataset_root() == home + "/.kusari/dataset");
}

TEST_CASE("cached_download takes what is there without asking anyone") {
  const ScratchDirectory dir;
  const Root root(dir.path());
  write_file(dir / "here.bin", "abc");
  CHECK(cached_download({"http://invalid.invalid/x"}, "here.bin") == dir / "here.bin");
}

TEST_CASE("cached_download: the file appears with the right content or not at all") {
  const ScratchDirectory dir;
  if (!has_libcurl(dir)) return;
  const Root root(dir / "root");
  write_file(dir / "source", "abc");
  gzFile gz = gzopen((dir / "source.gz").c_str(), "wb");
  gzwrite(gz, "abc", 3);
  gzclose(gz);
  const std::string good = "file://" + (dir / "source"), zipped = "file://" + (dir / "source.gz");
  const std::string missing = "file://" + (dir / "missing");

  const std::string path = cached_download({missing, good}, "set/file", {.sha256 = kSha256OfAbc});
  CHECK(path == dir / "root/set/file");
  CHECK(read_file(path) == "abc");
  CHECK(read_file(cached_download({zipped}, "set/file.gz", {.sha256 = kSha256OfAbc, .gzip = true})) ==
        read_file(dir / "source.gz"));

  write_file(dir / "wrong", "abd");
  std::string message;
  try {
    cached_download({missing, "file://" + (dir / "wrong")}, "set/other", {.sha256 = kSha256OfAbc});
  } catch (const IoError& error) {
    message = error.what();
  }
  // Every address, what went wrong there, and what to do.
  CHECK(message.find("cannot get set/other") != std::string::npos);
  CHECK(message.find(missing + ": ") != std::string::npos);
  CHECK(message.find(
            "wrong: its SHA-256 is a52d159f262b2c6ddb724a61840befc36eb30c88877a4030b65cbe86298449c9, not ba78") !=
        std::string::npos);
  CHECK(message.find("put the file at " + (dir / "root/set/other")) != std::string::npos);
  CHECK(message.find("KUSARI_DATASET_ROOT") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(dir / "root/set/other"));
  CHECK_FALSE(std::filesystem::exists(dir / "root/set/other.part"));
}

TEST_CASE("cached_download: a broken gzip file is refused") {
  const ScratchDirectory dir;
  if (!has_libcurl(dir)) return;
  const Root root(dir / "root");
  write_file(dir / "cut.gz", "\x1f\x8b\x08");
  CHECK_THROWS_WITH_AS(cached_download({"file://" + (dir / "cut.gz")}, "x", {.sha256 = kSha256OfAbc, .gzip = true}),
                       doctest::Contains("is cut off"), IoError);
  CHECK_FALSE(std::filesystem::exists(dir / "root/x"));
}

TEST_CASE("cached_download: processes wait for each other") {
  const ScratchDirectory dir;
  if (!has_libcurl(dir)) return;
  const Root root(dir / "root");
  write_file(dir / "source", "abc");
  const std::string url = "file://" + (dir / "source");
  pid_t children[4];
  for (pid_t& child : children) {
    child = ::fork();
    if (child == 0) {
      bool ok = false;
      try {
        ok = read_file(cached_download({url}, "file", {.sha256 = kSha256OfAbc})) == "abc";
      } catch (...) {
      }
      ::_exit(ok ? 0 : 1);
    }
  }
  for (pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
  }
}

TEST_CASE("set_dataset_root and get_dataset_directory") {
  const ScratchDirectory dir;
  const Root root("/some/where");
  set_dataset_root(dir / "root");
  CHECK(dataset_root() == dir / "root");
  CHECK(get_dataset_directory("own/set", false) == dir / "root/own/set");
  CHECK_FALSE(std::filesystem::exists(dir / "root"));
  CHECK(get_dataset_directory("own/set") == dir / "root/own/set");
  CHECK(std::filesystem::is_directory(dir / "root/own/set"));
  write_file(dir / "root/file", "");
  CHECK_THROWS_WITH_AS(get_dataset_directory("file/below"), doctest::Contains("cannot create"), IoError);
  set_dataset_root("");
  CHECK(dataset_root() == "/some/where");
}

TEST_CASE("find_dataset_file looks for any of the names") {
  const ScratchDirectory dir;
  const Root root(dir / "root");
  write_file(dir / "plain", "x");
  const DatasetFile file{.folder = "set", .names = {"zipped", "plain"}, .urls = {"http://invalid.invalid/zipped"}};
  CHECK(find_dataset_file("call", file, dir.path()) == dir / "plain");
  CHECK_THROWS_WITH_AS(find_dataset_file("call", file, dir / "none"),
                       ("call: neither zipped nor plain is in the folder " + (dir / "none")).c_str(), IoError);
  CHECK_THROWS_WITH_AS(find_dataset_file("call", {.folder = "set", .names = {"one"}, .urls = {}}, dir / "none"),
                       ("call: no one is in the folder " + (dir / "none")).c_str(), IoError);
  std::filesystem::create_directories(dir / "root/set");
  write_file(dir / "root/set/plain", "y");
  CHECK(find_dataset_file("call", file, "") == dir / "root/set/plain");
}
