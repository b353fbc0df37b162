#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/atomic_file.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/serializers/zip.h"
#include "kusari/tests/scratch_directory.h"

// Archives that are damaged or made to deceive, down to single bits.
using namespace kusari;
using namespace kusari::serializers;
using kusari::testing::read_file;
using kusari::testing::ScratchDirectory;
using kusari::testing::write_file;

namespace {

// What numpy.savez_compressed does, by Python 3.11's zipfile: "a.npy" and "l1/b.npy", both float32 [1.5], with the
// sizes in zip64 fields. In hexadecimal.
const char* const kSavez =
    "504b03042d00000008000000210054792e83ffffffffffffffff05001400612e6e707901001000840000000000000048000000000000"
    "009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9366a2aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416"
    "a402f91a863a9a3a0ab50a14002e068603f600504b03042d00000008000000210054792e83ffffffffffffffff080014006c312f622e"
    "6e707901001000840000000000000048000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9366a2aea3a09e965f"
    "54529498179f5f94920a12774bcc294e058a17672416a402f91a863a9a3a0ab50a14002e068603f600504b01022d032d000000080000"
    "00210054792e834800000084000000050000000000000000000000800100000000612e6e7079504b01022d032d000000080000002100"
    "54792e83480000008400000008000000000000000000000080017f0000006c312f622e6e7079504b0506000000000200020069000000"
    "010100000000";
// The same into a pipe: sizes and CRC-32 follow the data.
const char* const kStreamed =
    "504b03042d00080008000000210000000000ffffffffffffffff05001400612e6e707901001000000000000000000000000000000000"
    "009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9366a2aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416"
    "a402f91a863a9a3a0ab50a14002e068603f600504b070854792e8348000000000000008400000000000000504b03042d000800080000"
    "00210000000000ffffffffffffffff080014006c312f622e6e707901001000000000000000000000000000000000009bec17ea1b10c9"
    "c850c650ad9e925a9c5ca46ea5a06e9366a2aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91a863a9a3a"
    "0ab50a14002e068603f600504b070854792e8348000000000000008400000000000000504b01022d032d00080008000000210054792e"
    "834800000084000000050000000000000000000000800100000000612e6e7079504b01022d032d00080008000000210054792e834800"
    "0000840000000800000000000000000000008001970000006c312f622e6e7079504b0506000000000200020069000000310100000000";

std::string bytes_from(const std::string& hexadecimal) {
  std::string bytes;
  for (size_t i = 0; i < hexadecimal.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(hexadecimal.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

std::map<std::string, std::string> contents(const std::string& path) {
  const NpzReader file(path);
  std::map<std::string, std::string> result;
  for (const std::string& key : file.keys()) {
    const Entry entry = file.value(key);
    std::string& text = result[key];
    text = entry.is_text ? entry.text : "none";
    if (!entry.array.is_defined()) continue;
    text = to_string(entry.array.shape()) + name(entry.array.dtype());
    text.append(static_cast<const char*>(entry.array.raw_data()), static_cast<size_t>(entry.array.nbytes()));
  }
  return result;
}

/// Flips every bit; returns how many were noticed.
size_t check_flips(const ScratchDirectory& dir, const std::string& whole) {
  write_file(dir / "whole", whole);
  const auto expected = contents(dir / "whole");
  size_t noticed = 0;
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    write_file(dir / "damaged", damaged);
    try {
      if (contents(dir / "damaged") != expected) FAIL_CHECK("bit " << bit << " is silently wrong");
    } catch (const IoError&) {
      ++noticed;
    }
  }
  return noticed;
}

std::string error_of(const ScratchDirectory& dir, const std::string& bytes) {
  write_file(dir / "file", bytes);
  try {
    contents(dir / "file");
  } catch (const IoError& error) {
    const std::string what = error.what(), path = dir / "file";
    const size_t at = what.find(path);
    return at == what.npos ? what : what.substr(0, at) + "FILE" + what.substr(at + path.size());
  }
  return "no error";
}

std::string own_file(const ScratchDirectory& dir, bool compression) {
  Dictionary entries;
  entries.emplace_back("l1/W", Entry{array<float>({1, 2, 3, 4}, {2, 2})});
  entries.emplace_back("t", Entry{array<int64_t>({7}, Shape{})});
  entries.emplace_back("none", Entry{});
  entries.emplace_back("log", Entry{Array(), "[]", true});
  save_npz_dictionary(dir / "own", entries, {.compression = compression});
  return read_file(dir / "own");
}

void store(std::string& bytes, size_t at, uint64_t value, size_t size) {
  for (size_t i = 0; i < size; ++i) bytes[at + i] = static_cast<char>(value >> (8 * i));
}

}  // namespace

TEST_CASE("npz: files of NumPy with zip64 fields and data descriptors are read") {
  const ScratchDirectory dir;
  for (const char* const hexadecimal : {kSavez, kStreamed}) {
    write_file(dir / "a.npz", bytes_from(hexadecimal));
    const NpzReader file(dir / "a.npz");
    CHECK(file.keys() == std::vector<std::string>{"a", "l1/b"});
    for (const std::string& key : file.keys()) {
      CHECK(file.array(key).shape() == Shape{1});
      CHECK(file.array(key).at(0).item<float>() == 1.5f);
    }
  }
}

TEST_CASE("npz: every bit that flips is noticed or harmless") {
  const ScratchDirectory dir;
  for (const bool compression : {true, false}) {
    const std::string whole = own_file(dir, compression);
    // What may pass: the versions that made a file and may read it, attributes of the files, all meaningless here.
    CHECK(check_flips(dir, whole) > whole.size() * 8 * 8 / 10);
  }
  for (const char* const hexadecimal : {kSavez, kStreamed}) {
    const std::string whole = bytes_from(hexadecimal);
    CHECK(check_flips(dir, whole) > whole.size() * 8 * 6 / 10);
  }
}

TEST_CASE("npz: the directory must be that of the entries") {
  const ScratchDirectory dir;
  const std::string whole = own_file(dir, false);
  const size_t central = whole.find("PK\x01\x02"), end = whole.rfind("PK\x05\x06");
  REQUIRE(central != whole.npos);
  std::string bytes = whole;
  bytes[central + 46] = 'm';
  CHECK(error_of(dir, bytes) == "zip: FILE: entry 'm1/W.npy' has another name in the directory");
  bytes = whole;
  bytes[central + 16] = static_cast<char>(bytes[central + 16] ^ 1);
  CHECK(error_of(dir, bytes) == "zip: FILE: entry 'l1/W.npy' has another CRC-32 in the directory");
  bytes = whole;
  bytes[central + 12] = 1;
  CHECK(error_of(dir, bytes) == "zip: FILE: entry 'l1/W.npy' has another time in the directory");
  // An end record that counts too few.
  bytes = whole;
  store(bytes, end + 8, 3, 2);
  store(bytes, end + 10, 3, 2);
  CHECK(error_of(dir, bytes) ==
        "zip: FILE is not a whole zip archive: its directory has more than the entries that its end record counts");
  bytes = whole;
  store(bytes, end + 8, 3, 2);
  CHECK(error_of(dir, bytes) == "zip: FILE is not a whole zip archive: its end record gives two numbers of entries");
  // One entry fewer everywhere: the last line of the directory belongs to nothing.
  bytes = whole;
  const size_t last = whole.rfind("PK\x01\x02");
  store(bytes, end + 8, 3, 2);
  store(bytes, end + 10, 3, 2);
  store(bytes, end + 12, last - central, 4);
  CHECK(error_of(dir, bytes) ==
        "zip: FILE is not a whole zip archive: its directory is followed by something else than its end record");
  // Bytes after the end.
  CHECK(error_of(dir, whole + "x").find("the end of its directory is missing") != std::string::npos);
}

TEST_CASE("zip: two entries of one name, and entries that overlap, are refused") {
  const ScratchDirectory dir;
  std::string twice = own_file(dir, false);
  // "none" and "log" get one name of four letters, in both places.
  for (size_t at = twice.find("none.npy"); at != twice.npos; at = twice.find("none.npy", at + 1)) {
    twice.replace(at, 8, "l1/W.npy");
  }
  CHECK(error_of(dir, twice) == "zip: FILE is not a whole zip archive: it has two entries 'l1/W.npy'");

  // A directory with many lines for one body: 300 kB that would be 80 GB.
  {
    AtomicFile file(dir / "one");
    ZipWriter zip(file);
    zip.add("00000.npy", std::string(size_t{1} << 24, '\0'));
    zip.finish();
    file.commit();
  }
  const std::string one = read_file(dir / "one");
  const size_t central = one.find("PK\x01\x02"), end = one.rfind("PK\x05\x06");
  const std::string line = one.substr(central, end - central);
  std::string many = one.substr(0, central), record = one.substr(end);
  constexpr size_t kLines = 5000;
  for (size_t i = 0; i < kLines; ++i) {
    std::string other = line;
    other.replace(46, 5, std::to_string(10000 + i));
    many += other;
  }
  store(record, 8, kLines, 2);
  store(record, 10, kLines, 2);
  store(record, 12, line.size() * kLines, 4);
  many += record;
  const auto start = std::chrono::steady_clock::now();
  CHECK(error_of(dir, many).find("reaches into entry '") != std::string::npos);
  CHECK_THROWS_AS(ZipReader{dir / "file"}, IoError);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));

  // One that reaches only a little into the next: the size of its compressed data, in both places.
  std::string bytes = own_file(dir, false);
  const size_t first = bytes.find("PK\x01\x02");
  const auto size = static_cast<uint64_t>(static_cast<unsigned char>(bytes[first + 20])) + 1;
  for (const size_t at : {size_t{18}, size_t{22}, first + 20, first + 24}) store(bytes, at, size, 1);
  CHECK(error_of(dir, bytes).find("'l1/W.npy' reaches into entry 't.npy'") != std::string::npos);
}
