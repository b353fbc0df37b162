#include <array>
#include <cstdio>
#include <limits>
#include <string>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <nlohmann/json.hpp>

#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/serializers/safetensors.h"
#include "kusari/tests/scratch_directory.h"

// The program kusari-inspect: what it prints and how it exits.
using namespace kusari;
using serializers::Dictionary;
using serializers::Entry;
using testing::ScratchDirectory;

namespace {

struct Result {
  int exit_code = -1;
  std::string output;  // stdout and stderr
};

Result inspect(const std::string& arguments) {
  Result result;
  FILE* const pipe = ::popen(("'" KUSARI_INSPECT "' " + arguments + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 4096> buffer{};
  while (const size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) result.output.append(buffer.data(), n);
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  return result;
}

Dictionary entries() {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();
  Dictionary entries;
  entries.emplace_back("l1/W", Entry{array<float>({1, 3, 0, kNan, kInf, -4}, {2, 3})});
  entries.emplace_back("l1/b", Entry{array<double>({0.5, -0.5})});
  entries.emplace_back("t", Entry{array<int64_t>({7}, Shape{})});
  return entries;
}

}  // namespace

TEST_CASE("inspect lists keys, dtypes, shapes and sizes of both formats") {
  const ScratchDirectory dir;
  Dictionary all = entries();
  all.emplace_back("log", Entry{Array(), "[1]", true});
  all.emplace_back("none", Entry{});
  serializers::save_npz_dictionary(dir / "a.npz", all);
  const Result npz = inspect(dir / "a.npz");
  CHECK(npz.exit_code == 0);
  CHECK(npz.output ==
        " key    dtype   shape  bytes\n"
        "l1/W  float32  (2, 3)     24\n"
        "l1/b  float64    (2,)     16\n"
        "   t    int64      ()      8\n"
        " log     text      ()      3\n"
        "none     None      ()      0\n"
        "npz, 5 entries, 51 bytes\n");
  serializers::save_safetensors_dictionary(dir / "a.safetensors", entries());
  const Result safetensors = inspect(dir / "a.safetensors");
  CHECK(safetensors.exit_code == 0);
  CHECK(safetensors.output ==
        " key    dtype   shape  bytes\n"
        "   t    int64      ()      8\n"
        "l1.b  float64    (2,)     16\n"
        "l1.W  float32  (2, 3)     24\n"
        "safetensors, 3 entries, 48 bytes\n");
}

TEST_CASE("inspect --stats, --filter, --json") {
  const ScratchDirectory dir;
  serializers::save_npz_dictionary(dir / "a.npz", entries());
  // Of 1, 3, 0, -4: mean 0, squares 26 / 4.
  CHECK(inspect((dir / "a.npz") + " --stats --filter '*/W'").output ==
        " key    dtype   shape  bytes  min  max  mean      std  nan  inf  zero\n"
        "l1/W  float32  (2, 3)     24   -4    3     0  2.54951    1    1     1\n"
        "npz, 1 entries, 24 bytes\n");
  CHECK(inspect((dir / "a.npz") + " --filter l1").output.find("2 entries") != std::string::npos);

  const auto json = nlohmann::json::parse(inspect((dir / "a.npz") + " --stats --json").output);
  CHECK(json["format"] == "npz");
  REQUIRE(json["entries"].size() == 3);
  CHECK(json["entries"][0]["key"] == "l1/W");
  CHECK(json["entries"][0]["shape"] == nlohmann::json({2, 3}));
  CHECK(json["entries"][0]["nan"] == 1);
  CHECK(json["entries"][1]["mean"] == 0.0);
  CHECK(json["entries"][1]["std"] == 0.5);
  CHECK(json["entries"][2]["max"] == 7);

  serializers::save_npz_dictionary(dir / "nan.npz",
                                   {{"x", Entry{full({2}, std::numeric_limits<double>::quiet_NaN(), Dtype::float64)}}});
  CHECK(nlohmann::json::parse(inspect((dir / "nan.npz") + " --stats --json").output)["entries"][0]["min"].is_null());

  serializers::save_safetensors_dictionary(dir / "m", entries(), {.metadata = {{"format", "pt"}}});
  CHECK(nlohmann::json::parse(inspect((dir / "m") + " --json").output)["metadata"]["format"] == "pt");
}

TEST_CASE("inspect compares two files") {
  const ScratchDirectory dir;
  serializers::save_npz_dictionary(dir / "a.npz", entries());
  serializers::save_safetensors_dictionary(dir / "same", entries());
  const Result same = inspect((dir / "a.npz") + " " + (dir / "same"));
  CHECK(same.exit_code == 0);
  CHECK(same.output == "no differences\n");

  Dictionary other = entries();
  other[0].second.array = array<float>({1, 3, 0, 1, 2, -4}, {3, 2});
  other[1].second.array = array<double>({0.5, -0.75});
  other[2].first = "u";
  serializers::save_npz_dictionary(dir / "b.npz", other);
  const std::string both = (dir / "a.npz") + " " + (dir / "b.npz");
  const Result different = inspect(both);
  CHECK(different.exit_code == 1);
  CHECK(different.output ==
        "l1/W: shape (2, 3) and (3, 2)\n"
        "l1/b: 1 of 2 values differ, by at most 0.25\n"
        "t: only in the first file\n"
        "u: only in the second file\n");
  CHECK(inspect(both + " --filter l1/b --atol 0.25").exit_code == 0);
  CHECK(inspect(both + " --filter l1/b --rtol 0.3").exit_code == 1);
  CHECK(inspect(both + " --filter l1/b --rtol 0.34").exit_code == 0);
  const auto json = nlohmann::json::parse(inspect(both + " --json").output);
  CHECK(json.size() == 4);
  CHECK(json[1]["largest"] == 0.25);
}

TEST_CASE("inspect sees differences that are infinite, and those of integers beyond what doubles hold") {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr int64_t kLarge = int64_t{1} << 53;
  const ScratchDirectory dir;
  serializers::save_npz_dictionary(
      dir / "a.npz", {{"x", Entry{array<double>({1, kInf, -kInf})}}, {"n", Entry{array<int64_t>({kLarge, -3})}}});
  serializers::save_npz_dictionary(
      dir / "b.npz", {{"x", Entry{array<double>({kInf, kInf, 2})}}, {"n", Entry{array<int64_t>({kLarge + 1, -3})}}});
  const std::string both = (dir / "a.npz") + " " + (dir / "b.npz");
  CHECK(inspect(both + " --rtol 0.1 --filter x").output == "x: 2 of 3 values differ, by at most inf\n");
  CHECK(inspect(both + " --filter n").output == "n: 1 of 2 values differ, by at most 1\n");
  CHECK(inspect(both + " --filter n --atol 1").exit_code == 0);
}

TEST_CASE("inspect: errors") {
  const ScratchDirectory dir;
  const Result missing = inspect(dir / "none");
  CHECK(missing.exit_code == 2);
  CHECK(missing.output ==
        "kusari-inspect: open_entries: " + (dir / "none") + " cannot be opened: No such file or directory\n");
  testing::write_file(dir / "bad", "not a file of arrays");
  CHECK(inspect(dir / "bad").exit_code == 2);
  CHECK(inspect("").exit_code != 0);
}

TEST_CASE("inspect shows keys that a terminal would obey as escapes") {
  const ScratchDirectory dir;
  const std::string key =
      "a\x1b[31m\x07\x7f\xc2\x9b"
      "2J\xe2\x80\xae\xc3\xa9";
  serializers::save_npz_dictionary(dir / "a.npz",
                                   {{key, Entry{array<float>({1})}}, {key + "t", Entry{Array(), key, true}}});
  serializers::save_safetensors_dictionary(dir / "a.safetensors", {{key, Entry{array<float>({2})}}});
  for (const std::string& arguments :
       {(dir / "a.npz") + " --stats", (dir / "a.npz") + " --json", (dir / "a.safetensors") + " --json",
        dir / "a.safetensors", (dir / "a.npz") + " " + (dir / "a.safetensors"),
        (dir / "a.npz") + " " + (dir / "a.safetensors") + " --json"}) {
    CAPTURE(arguments);
    const std::string output = inspect(arguments).output;
    for (const char* harmful : {"\x1b", "\x07", "\x7f", "\xc2\x9b", "\xe2\x80\xae"}) {
      CHECK(output.find(harmful) == std::string::npos);
    }
    CHECK(output.find("\xc3\xa9") != std::string::npos);
  }
  CHECK(inspect(dir / "a.npz").output.find("a\\x1b[31m\\x07\\x7f\\u009b2J\\u202e\xc3\xa9") != std::string::npos);
  const nlohmann::json all = nlohmann::json::parse(inspect((dir / "a.npz") + " --json").output);
  CHECK(all["entries"][0]["key"] == key);
  CHECK(all["entries"][1]["text"] == key);
}

TEST_CASE("inspect checks checksums, and ends quickly with files made to keep it busy") {
  const ScratchDirectory dir;
  for (const char* name : {"a.npz", "a.safetensors"}) {
    CAPTURE(name);
    const bool is_npz = std::string(name) == "a.npz";
    is_npz ? serializers::save_npz_dictionary(dir / name, entries(), {.compression = false})
           : serializers::save_safetensors_dictionary(dir / name, entries());
    CHECK(inspect(dir / name).exit_code == 0);
    std::string bytes = testing::read_file(dir / name);
    const size_t at = bytes.find(std::string("\0\0\x40\x40", 4));  // 3 as float32
    REQUIRE(at != bytes.npos);
    bytes[at] ^= 1;
    testing::write_file(dir / name, bytes);
    const Result damaged = inspect((dir / name) + " --filter t");  // whatever is to be shown
    CHECK(damaged.exit_code == 2);
    CHECK(damaged.output.find("damaged: its CRC-32 does not match") != std::string::npos);
  }
}
