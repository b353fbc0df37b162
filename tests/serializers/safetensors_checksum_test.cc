#include <cstdint>
#include <cstring>
#include <map>
#include <string>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/serializers/safetensors.h"
#include "kusari/tests/scratch_directory.h"

// The checksums in the metadata of .safetensors files.
using namespace kusari;
using namespace kusari::serializers;
using kusari::testing::read_file;
using kusari::testing::ScratchDirectory;
using kusari::testing::write_file;

namespace {

Dictionary checked_entries() {
  Dictionary entries;
  entries.emplace_back("l1/W", Entry{array<float>({1, 2, 3, 4, 5, 6}, {2, 3})});
  entries.emplace_back("half", Entry{full({3}, 0.25, Dtype::float16)});
  entries.emplace_back("empty", Entry{zeros({0, 2})});
  entries.emplace_back("flag", Entry{array<bool>({true}, Shape{})});
  entries.emplace_back("none", Entry{});
  entries.emplace_back("log", Entry{Array(), "[{\"epoch\": 1}]", true});
  return entries;
}

/// All that the file says.
std::string said_by(const std::string& path) {
  const SafetensorsReader file(path);
  std::string text;
  for (const SafetensorsEntry& entry : file.entries()) {
    const Array array = file.array(entry.key);
    text += entry.key + to_string(array.shape()) + name(array.dtype());
    text.append(static_cast<const char*>(array.raw_data()), static_cast<size_t>(array.nbytes()));
  }
  for (const auto& [key, value] : file.metadata()) text += key + "=" + value + "\n";
  return text;
}

}  // namespace

TEST_CASE("safetensors: every bit that flips is noticed") {
  const ScratchDirectory dir;
  save_safetensors_dictionary(dir / "a", checked_entries(), {.metadata = {{"format", "pt"}}});
  const std::string whole = read_file(dir / "a"), expected = said_by(dir / "a");
  CHECK(SafetensorsReader(dir / "a").has_checksums());
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    write_file(dir / "b", damaged);
    CAPTURE(bit);
    CHECK_THROWS_AS(said_by(dir / "b"), IoError);
    CHECK_THROWS_AS(SafetensorsReader(dir / "b").verify(), IoError);
  }
}

TEST_CASE("safetensors: files of others have no checksums, and other programs may write ours") {
  const ScratchDirectory dir;
  save_safetensors_dictionary(dir / "a", checked_entries(), {.checksums = false});
  CHECK_FALSE(SafetensorsReader(dir / "a").has_checksums());
  CHECK(SafetensorsReader(dir / "a").metadata().count("kusari.crc32") == 0);

  // The same in another order of the metadata, with blanks: Python's package goes by hashes.
  save_safetensors_dictionary(dir / "b", {{"x", Entry{array<float>({1, 2})}}}, {.metadata = {{"format", "pt"}}});
  const std::map<std::string, std::string> metadata = SafetensorsReader(dir / "b").metadata();
  const auto with = [&](const std::string& shape) {
    std::string json = "{ \"x\": {\"shape\": " + shape + ", \"data_offsets\": [0, 8], \"dtype\": \"F32\"}, " +
                       "\"__metadata__\": {\"kusari.crc32s\": \"" + metadata.at("kusari.crc32s") +
                       "\", \"format\": \"pt\", \"kusari.crc32\": \"" + metadata.at("kusari.crc32") + "\"}}";
    uint64_t length = json.size();
    std::string file(sizeof(length), '\0');
    std::memcpy(file.data(), &length, sizeof(length));
    const float numbers[] = {1, 2};
    return file + json + std::string(reinterpret_cast<const char*>(numbers), sizeof(numbers));
  };
  write_file(dir / "c", with("[2]"));
  CHECK(SafetensorsReader(dir / "c").array("x").to_vector<float>() == std::vector<float>{1, 2});
  write_file(dir / "d", with("[2, 1]"));
  CHECK_THROWS_WITH_AS(SafetensorsReader(dir / "d"), doctest::Contains("kusari.crc32 does not match"), IoError);
  // Metadata that came from a file with checksums.
  save_safetensors_dictionary(dir / "e", {{"x", Entry{array<float>({5, 6})}}}, {.metadata = metadata});
  CHECK(SafetensorsReader(dir / "e").array("x").to_vector<float>() == std::vector<float>{5, 6});
  save_safetensors_dictionary(dir / "f", {{"x", Entry{array<float>({5})}}}, {.metadata = metadata, .checksums = false});
  CHECK_FALSE(SafetensorsReader(dir / "f").has_checksums());
}

TEST_CASE("safetensors: tensors of many pieces are checked") {
  const ScratchDirectory dir;
  const Array large = arange(5'000'000).astype(Dtype::float32);
  save_safetensors_dictionary(dir / "a", {{"x", Entry{large}}});
  SafetensorsReader(dir / "a").verify();
  CHECK(SafetensorsReader(dir / "a").array("x").at(4'999'999).item<float>() == 4'999'999);
  std::string bytes = read_file(dir / "a");
  bytes[bytes.size() - 5'000'000] ^= 0x10;
  write_file(dir / "a", bytes);
  CHECK_THROWS_WITH_AS(SafetensorsReader(dir / "a").array("x"), doctest::Contains("tensor 'x' is damaged"), IoError);
  CHECK_THROWS_WITH_AS(SafetensorsReader(dir / "a").verify(), doctest::Contains("tensor 'x' is damaged"), IoError);
}
