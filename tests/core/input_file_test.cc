#include "kusari/framework/core/input_file.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/tests/scratch_directory.h"

using namespace kusari;
using kusari::testing::ScratchDirectory;
using kusari::testing::write_file;

TEST_CASE("InputFile reads at any place") {
  const ScratchDirectory dir;
  const std::string path = dir / "a";
  write_file(path, "0123456789");
  const InputFile file("f", path);
  CHECK(file.size() == 10);
  CHECK(file.path() == path);
  std::vector<uint8_t> out(3);
  file.read(7, out);
  CHECK(out == std::vector<uint8_t>{'7', '8', '9'});
  file.read(0, out);
  CHECK(out == std::vector<uint8_t>{'0', '1', '2'});
  CHECK_NOTHROW(file.read(10, {}));
  CHECK_THROWS_WITH_AS(file.read(8, out), ("f: " + path + " became shorter while it was read").c_str(), IoError);
  CHECK(read_whole("f", path, out).size() == 10);
  CHECK(out[9] == '9');
  write_file(path, "");
  CHECK(read_whole("f", path, out).empty());
}

TEST_CASE("InputFile: what is no file") {
  const ScratchDirectory dir;
  CHECK_THROWS_WITH_AS(InputFile("f", dir / "none"),
                       ("f: " + (dir / "none") + " cannot be opened: No such file or directory").c_str(), IoError);
  CHECK_THROWS_WITH_AS(InputFile("f", dir.path()), ("f: " + dir.path() + " is not a regular file").c_str(), IoError);
}
