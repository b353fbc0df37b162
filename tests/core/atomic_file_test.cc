#include "kusari/framework/core/atomic_file.h"

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/tests/scratch_directory.h"

namespace fs = std::filesystem;
using kusari::AtomicFile;
using kusari::testing::read_file;
using kusari::testing::ScratchDirectory;

TEST_CASE("AtomicFile replaces the old file at commit and not before") {
  const ScratchDirectory dir;
  const std::string path = dir / "a.txt";
  kusari::write_file_atomically(path, "old");
  CHECK(read_file(path) == "old");
  {
    AtomicFile file(path);
    file.write("new");
    file.write(std::string(1 << 19, 'x'));
    CHECK(file.size() == 3 + (1 << 19));
    file.overwrite(1, "EW", 2);
    CHECK(read_file(path) == "old");
    file.commit();
    CHECK_THROWS_AS(file.write("late"), kusari::StateError);
    CHECK_THROWS_AS(file.commit(), kusari::StateError);
  }
  CHECK(read_file(path) == "nEW" + std::string(1 << 19, 'x'));
  CHECK(dir.count() == 1);
}

TEST_CASE("AtomicFile without commit leaves the old file and nothing else") {
  const ScratchDirectory dir;
  kusari::write_file_atomically(dir / "a.txt", "old");
  {
    AtomicFile file(dir / "a.txt");
    file.write("half of the n");
  }
  CHECK(read_file(dir / "a.txt") == "old");
  CHECK(dir.count() == 1);
}

TEST_CASE("AtomicFile that is flushed does not appear before commit") {
  const ScratchDirectory dir;
  AtomicFile file(dir / "file");
  file.write("abc");
  file.flush();
  CHECK_FALSE(fs::exists(dir / "file"));
  file.write("de");
  file.commit();
  CHECK(fs::file_size(dir / "file") == 5);
  CHECK_THROWS_AS(file.flush(), kusari::StateError);
}

TEST_CASE("AtomicFile follows a symbolic link") {
  const ScratchDirectory dir;
  fs::create_directory(dir / "sub");
  kusari::write_file_atomically(dir / "sub/real", "old");
  fs::create_symlink("sub/real", dir / "link");
  kusari::write_file_atomically(dir / "link", "new");
  CHECK(fs::is_symlink(dir / "link"));
  CHECK(read_file(dir / "sub/real") == "new");
}

TEST_CASE("AtomicFile's errors name the file") {
  const ScratchDirectory dir;
  CHECK_THROWS_WITH_AS(AtomicFile(dir / "no/such/file"), doctest::Contains("no/such/file"), kusari::IoError);
  CHECK_THROWS_AS(AtomicFile(dir / ""), kusari::IoError);
  fs::create_directory(dir / "directory");
  CHECK_THROWS_WITH_AS(AtomicFile(dir / "directory"), doctest::Contains("cannot replace the folder"), kusari::IoError);
  AtomicFile small(dir / "small");
  small.write("abc");
  CHECK_THROWS_AS(small.overwrite(2, "xy", 2), kusari::ValueError);
}

TEST_CASE("AtomicFile names the folder that is missing") {
  const ScratchDirectory dir;
  const std::string folder = dir / "a";
  const std::string text = "AtomicFile: cannot write " + folder + "/b/c.npz: there is no folder " + folder +
                           ": create it first (std::filesystem::create_directories)";
  CHECK_THROWS_WITH_AS(AtomicFile(folder + "/b/c.npz"), text.c_str(), kusari::IoError);
  fs::create_directory(folder);
  CHECK_THROWS_WITH_AS(AtomicFile(folder + "/b/c.npz"), doctest::Contains("a/b: create it first"), kusari::IoError);
}

TEST_CASE("remove_stale_temporary_files removes what killed processes left, and nothing else") {
  const ScratchDirectory dir;
  for (const char* name : {".a.txt.tmp-123-0", ".a.tmp-b.tmp-1-22"}) kusari::testing::write_file(dir / name, "half");
  const auto others = {"a.tmp-1-2", ".tmp-1-2",     ".a.tmp-1",   ".a.tmp-1-",
                       ".a.tmp--1", ".a.tmp-1-2-3", ".a.tmp-1-x", "a.txt"};
  for (const char* name : others) kusari::testing::write_file(dir / name, "whole");
  AtomicFile living(dir / "b");
  living.write("new");
  CHECK(dir.count() == 3 + others.size());
  CHECK(kusari::remove_stale_temporary_files(dir.path()) == 2);
  CHECK(dir.count() == 1 + others.size());
  for (const char* name : others) CHECK(read_file(dir / name) == "whole");
  living.commit();
  CHECK(read_file(dir / "b") == "new");
  CHECK(kusari::remove_stale_temporary_files(dir.path()) == 0);
  CHECK(kusari::remove_stale_temporary_files(dir / "none") == 0);
}
