#include "kusari/framework/serializers/zip.h"

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "kusari/framework/core/atomic_file.h"
#include "kusari/framework/core/error.h"
#include "kusari/tests/scratch_directory.h"

using namespace kusari::serializers;
using kusari::IoError;
using kusari::testing::read_file;
using kusari::testing::ScratchDirectory;
using kusari::testing::write_file;

namespace {

// Written by Python 3.11's zipfile: "a/b.txt" deflated ("hello hello hello hello"), "é" stored ("xyz"). In hexadecimal.
const char* const kPythonZip =
    "504b030414000000080000002100e3513d8d0a0000001700000007000000612f622e747874cb48cdc9c957c8402701504b0304140000"
    "0800000000210067ba8eeb030000000300000002000000c3a978797a504b0102140314000000080000002100e3513d8d0a0000001700"
    "0000070000000000000000000000800100000000612f622e747874504b010214031400000800000000210067ba8eeb03000000030000"
    "0002000000000000000000000080012f000000c3a9504b0506000000000200020065000000520000000000";

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

std::string pattern(size_t size) {
  std::string text(size, '\0');
  uint32_t state = 1;
  for (char& c : text) {
    state = state * 1664525u + 1013904223u;
    c = static_cast<char>(state >> 30);  // 2 random bits: deflates to about a quarter
  }
  return text;
}

void write_archive(const std::string& path, int level = 6) {
  kusari::AtomicFile file(path);
  ZipWriter zip(file, level);
  zip.add("empty", "");
  zip.add("deflated/l1/W.npy", pattern(200000));
  zip.add("stored", pattern(1000), ZipMethod::stored);
  zip.add("\xc3\xa9.npy", "umlaut");
  zip.begin("in pieces", 7);
  zip.write("abc", 3);
  zip.write("defg", 4);
  zip.end();
  zip.finish();
  file.commit();
}

void read_all(const std::string& path) {
  const ZipReader zip(path);
  for (const ZipEntry& e : zip.entries()) {
    std::string content(1 << 10, '\0');
    ZipStream stream = zip.open(e);
    while (stream.remaining() > 0) {
      stream.read(content.data(), static_cast<size_t>(std::min<uint64_t>(stream.remaining(), content.size())));
    }
  }
}

}  // namespace

TEST_CASE("ZipWriter's archives read back") {
  const ScratchDirectory dir;
  const std::string path = dir / "a.zip";
  write_archive(path);
  const ZipReader zip(path);
  CHECK(zip.entries().size() == 5);
  CHECK(zip.read("empty") == "");
  CHECK(zip.read("deflated/l1/W.npy") == pattern(200000));
  CHECK(zip.read("stored") == pattern(1000));
  CHECK(zip.read("\xc3\xa9.npy") == "umlaut");
  CHECK(zip.read("in pieces") == "abcdefg");
  CHECK(zip.find("stored")->compressed_size == 1000);
  CHECK(zip.find("deflated/l1/W.npy")->compressed_size < 80000);
  CHECK(zip.find("absent") == nullptr);
  CHECK_THROWS_WITH_AS(zip.read("absent"), doctest::Contains("absent"), kusari::KeyError);
  for (const int level : {0, 1, 9}) {
    CAPTURE(level);
    write_archive(dir / "level.zip", level);
    CHECK(ZipReader(dir / "level.zip").read("deflated/l1/W.npy") == pattern(200000));
  }
  // The same calls give the same bytes.
  write_archive(dir / "b.zip");
  CHECK(read_file(path) == read_file(dir / "b.zip"));
}

TEST_CASE("ZipReader reads what Python wrote, ZipWriter writes the same bytes") {
  const ScratchDirectory dir;
  write_file(dir / "a.zip", from_hex(kPythonZip));
  const ZipReader zip(dir / "a.zip");
  CHECK(zip.read("a/b.txt") == "hello hello hello hello");
  CHECK(zip.read("\xc3\xa9") == "xyz");
  kusari::AtomicFile file(dir / "b.zip");
  ZipWriter writer(file);
  writer.add("a/b.txt", "hello hello hello hello");
  writer.add("\xc3\xa9", "xyz", ZipMethod::stored);
  writer.finish();
  file.commit();
  CHECK(read_file(dir / "b.zip") == from_hex(kPythonZip));
}

TEST_CASE("ZipReader reads in pieces and checks the end") {
  const ScratchDirectory dir;
  write_archive(dir / "a.zip");
  const ZipReader zip(dir / "a.zip");
  ZipStream stream = zip.open(*zip.find("stored"));
  std::string part(600, '\0');
  stream.read(part.data(), 600);
  CHECK(part == pattern(1000).substr(0, 600));
  CHECK(stream.remaining() == 400);
  CHECK_THROWS_WITH_AS(stream.read(part.data(), 401), doctest::Contains("ends too early"), IoError);
}

TEST_CASE("zip: more than 65535 entries need zip64") {
  const ScratchDirectory dir;
  {
    kusari::AtomicFile file(dir / "many.zip");
    ZipWriter zip(file);
    for (int i = 0; i < 65540; ++i) zip.add(std::to_string(i), "", ZipMethod::stored);
    zip.add("last", "here");
    zip.finish();
    file.commit();
  }
  const ZipReader zip(dir / "many.zip");
  CHECK(zip.entries().size() == 65541);
  CHECK(zip.read("last") == "here");
}

TEST_CASE("zip: sizes in a zip64 field, data after a longer local header, a comment at the end") {
  const auto le = [](uint64_t value, int bytes) {
    std::string s;
    for (int i = 0; i < bytes; ++i) s.push_back(static_cast<char>(value >> (8 * i)));
    return s;
  };
  // CRC-32 of "123456789" is cbf43926 (the check value of the algorithm).
  const std::string local = "PK\x03\x04" + le(45, 2) + le(0, 8) + le(0xcbf43926, 4) + le(0xFFFFFFFF, 4) +
                            le(0xFFFFFFFF, 4) + le(1, 2) + le(20, 2) + "n" + le(1, 2) + le(16, 2) + le(9, 8) +
                            le(9, 8) + "123456789";
  const std::string central = "PK\x01\x02" + le(45, 2) + le(45, 2) + le(0, 8) + le(0xcbf43926, 4) + le(0xFFFFFFFF, 4) +
                              le(0xFFFFFFFF, 4) + le(1, 2) + le(33, 2) + le(0, 2) + le(0, 4) + le(0, 4) +
                              le(0xFFFFFFFF, 4) + "n" + le(0x7777, 2) + le(1, 2) + "?" + le(1, 2) + le(24, 2) +
                              le(9, 8) + le(9, 8) + le(0, 8);
  const std::string end = "PK\x05\x06" + le(0, 4) + le(1, 2) + le(1, 2) + le(central.size(), 4) + le(local.size(), 4) +
                          le(7, 2) + "comment";
  const ScratchDirectory dir;
  write_file(dir / "a.zip", local + central + end);
  CHECK(ZipReader(dir / "a.zip").read("n") == "123456789");
}

TEST_CASE("zip: every truncation of an archive is an IoError") {
  const ScratchDirectory dir;
  {
    kusari::AtomicFile file(dir / "a.zip");
    ZipWriter zip(file);
    zip.add("x", pattern(300));
    zip.add("y", "stored", ZipMethod::stored);
    zip.finish();
    file.commit();
  }
  const std::string whole = read_file(dir / "a.zip");
  for (size_t n = 0; n < whole.size(); ++n) {
    CAPTURE(n);
    write_file(dir / "cut.zip", whole.substr(0, n));
    CHECK_THROWS_AS(read_all(dir / "cut.zip"), IoError);
  }
}

TEST_CASE("zip: a changed byte is found or harmless, never a crash") {
  const ScratchDirectory dir;
  {
    kusari::AtomicFile file(dir / "a.zip");
    ZipWriter zip(file);
    zip.add("x", pattern(300));
    zip.finish();
    file.commit();
  }
  const std::string whole = read_file(dir / "a.zip");
  const size_t data_begin = 31, data_end = 31 + ZipReader(dir / "a.zip").find("x")->compressed_size;
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const int change : {0x01, 0x80, 0xFF}) {
      CAPTURE(i);
      std::string bad = whole;
      bad[i] = static_cast<char>(bad[i] ^ change);
      write_file(dir / "bad.zip", bad);
      bool thrown = false;
      try {
        read_all(dir / "bad.zip");
      } catch (const IoError&) {
        thrown = true;
      }
      if (i >= data_begin && i < data_end) CHECK(thrown);
    }
  }
}

TEST_CASE("zip: errors name the file, the entry and the reason") {
  const ScratchDirectory dir;
  CHECK_THROWS_WITH_AS(ZipReader(dir / "none.zip"), doctest::Contains("none.zip cannot be opened: No such file"),
                       IoError);
  CHECK_THROWS_WITH_AS(ZipReader(dir.path()), doctest::Contains("not a regular file"), IoError);
  write_file(dir / "text", std::string(100, 'a'));
  CHECK_THROWS_WITH_AS(ZipReader(dir / "text"), doctest::Contains("another kind of file"), IoError);

  write_archive(dir / "a.zip");
  std::string bytes = read_file(dir / "a.zip");
  const size_t stored = bytes.find("stored") + 6;
  bytes[stored + 10] = static_cast<char>(bytes[stored + 10] ^ 1);
  write_file(dir / "b.zip", bytes);
  CHECK_THROWS_WITH_AS(ZipReader(dir / "b.zip").read("stored"),
                       doctest::Contains("entry 'stored' is damaged: its CRC-32 does not match"), IoError);

  // A deflated entry that claims more than deflate can pack into its bytes allocates nothing.
  bytes = read_file(dir / "a.zip");
  const size_t central = bytes.rfind("PK\x01\x02", bytes.rfind("in pieces"));
  bytes.replace(central + 24, 4, "\xf0\xff\xff\x7f");
  write_file(dir / "c.zip", bytes);
  CHECK_THROWS_WITH_AS(ZipReader(dir / "c.zip").read("in pieces"), doctest::Contains("claims 2147483632 bytes"),
                       IoError);
  bytes = read_file(dir / "a.zip");
  bytes[central + 8] = 1;
  write_file(dir / "d.zip", bytes);
  CHECK_THROWS_WITH_AS(ZipReader(dir / "d.zip").read("in pieces"), doctest::Contains("is encrypted"), IoError);
  bytes[central + 8] = 0;
  bytes[central + 10] = 12;
  write_file(dir / "e.zip", bytes);
  CHECK_THROWS_WITH_AS(ZipReader(dir / "e.zip").read("in pieces"), doctest::Contains("compression method 12"), IoError);
}

TEST_CASE("ZipWriter: misuse") {
  const ScratchDirectory dir;
  kusari::AtomicFile file(dir / "a.zip");
  CHECK_THROWS_AS(ZipWriter(file, -1), kusari::ValueError);
  CHECK_THROWS_AS(ZipWriter(file, 10), kusari::ValueError);
  ZipWriter zip(file);
  CHECK_THROWS_AS(zip.write("a", 1), kusari::StateError);
  zip.add("a", "x");
  CHECK_THROWS_WITH_AS(zip.add("a", "y"), "ZipWriter: an entry 'a' exists already", kusari::ValueError);
  CHECK_THROWS_AS(zip.add("", "y"), kusari::ValueError);
  zip.begin("b", 3);
  CHECK_THROWS_AS(zip.write("four", 4), kusari::StateError);
  CHECK_THROWS_WITH_AS(zip.end(), "ZipWriter: entry 'b' lacks 3 of its 3 bytes", kusari::StateError);
  CHECK_THROWS_AS(zip.finish(), kusari::StateError);
}
